"""hlo-cse: compute equal ops once."""

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.passes.hlo.support.walk import blocks, has_effect
from neuronir.passes.statistics import record

_DISTINCT = frozenset(
    f"hlo.{name}" for name in ("rng", "rng_bit_generator", "optimization_barrier", "custom_call")
)
_LARGEST_REGION = 16


class Numbers:
    """Assigns small integers to attributes, so that keys hash quickly however large attributes
    are.
    """

    def __init__(self) -> None:
        self.by_value: dict[Attribute, int] = {}
        self.by_id: dict[int, tuple[Attribute, int]] = {}

    def __call__(self, attribute: Attribute) -> int:
        # Attributes are mostly shared objects, and hashing one by value traverses all of it.
        seen = self.by_id.get(id(attribute))
        if seen is not None:
            return seen[1]
        number = self.by_value.setdefault(attribute, len(self.by_value))
        self.by_id[id(attribute)] = (attribute, number)
        return number


def _region_key(op: Operation, number: Numbers) -> Hashable | None:
    """Return a key for the meaning of an op's regions, or None if they are too large to compare."""
    result: list[Hashable] = []
    for region in op.regions:
        block = region.blocks.first
        if block is None or block is not region.blocks.last:
            return None
        names: dict[SSAValue, int] = {arg: i for i, arg in enumerate(block.args)}
        result.append(tuple(number(arg.type) for arg in block.args))
        for count, inner in enumerate(block.ops):
            if count >= _LARGEST_REGION or inner.regions:
                return None
            if any(operand not in names for operand in inner.operands):
                return None
            result.append(
                (
                    inner.name,
                    tuple(names[v] for v in inner.operands),
                    _properties(inner, number),
                    tuple(number(r.type) for r in inner.results),
                )
            )
            for value in inner.results:
                names[value] = len(names)
    return tuple(result)


def _properties(op: Operation, number: Numbers) -> Hashable:
    return tuple(sorted((name, number(value)) for name, value in op.properties.items()))


def _key(op: Operation, number: Numbers) -> Hashable | None:
    if op.name in _DISTINCT or has_effect(op) or not op.results:
        return None
    regions = _region_key(op, number) if op.regions else ()
    if regions is None:
        return None
    return (
        tuple(number(r.type) for r in op.results),
        _properties(op, number),
        regions,
    )


class _Ops:
    """The ops of a block by kind and operands; full keys are built only for candidates."""

    def __init__(self, number: Numbers) -> None:
        self.number = number
        self.single: dict[Hashable, Operation] = {}
        self.several: dict[Hashable, dict[Hashable, Operation]] = {}

    def equal(self, op: Operation) -> Operation | None:
        """Return an earlier equal op, or None."""
        rough = (op.name, *map(id, op.operands))
        known = self.several.get(rough)
        if known is None:
            first = self.single.setdefault(rough, op)
            if first is op:
                return None
            key = _key(first, self.number)
            known = self.several[rough] = {} if key is None else {key: first}
        key = _key(op, self.number)
        earlier = op if key is None else known.setdefault(key, op)
        return None if earlier is op else earlier


def merge_equal(block: Block, number: Numbers) -> int:
    """Replace later equal ops of a block by the first one, and return their number."""
    ops = _Ops(number)
    count = 0
    for op in tuple(block.ops):
        earlier = ops.equal(op)
        if earlier is None:
            continue
        for old, new in zip(op.results, earlier.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
        count += 1
    return count


@dataclass(frozen=True)
class HloCsePass(ModulePass):
    """Merge ops with equal operands, properties, types and small regions.

    Constants are merged by content. Random ops, custom calls and ops with side effects are not
    merged. The merged op keeps the location of the first op.
    """

    name = "hlo-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        number = Numbers()
        record(self.name, "ops-merged", sum(merge_equal(block, number) for block in blocks(op)))
