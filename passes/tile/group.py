"""Groups: ops that are worked on together, tile by tile, in loops over axes that they share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.axes import Key, Related

VIEWS = frozenset(
    ("hlo.broadcast", "hlo.reshape", "hlo.bitcast", "hlo.transpose", "hlo.constant", "hlo.iota")
)
"""Ops whose results need no memory of their own: they are made anew wherever they are read."""


def item_bytes(value: SSAValue) -> int:
    """Bytes of an element."""
    assert isinstance(value.type, TensorType)
    return dtype_of(value.type.element_type).size


def nbytes(value: SSAValue) -> int:
    """Bytes of a tensor value."""
    return prod(shape_of(value)) * item_bytes(value)


@dataclass(frozen=True)
class Loop:
    """A loop over an axis of `size` positions, `tile` of them in each round."""

    axis: int
    size: int
    tile: int

    @property
    def rounds(self) -> int:
        """Rounds, with the last shorter one where there is one."""
        return -(-self.size // self.tile)


@dataclass(eq=False)
class Group:
    """Ops in program order, views included, with their axes; `loops` from the outside in."""

    ops: tuple[Operation, ...]
    related: Related
    loops: tuple[Loop, ...] = ()
    inside: frozenset[Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.inside = frozenset(self.ops)

    @cached_property
    def outputs(self) -> tuple[SSAValue, ...]:
        """Results that are read outside."""
        return tuple(
            r
            for op in self.ops
            for r in op.results
            if any(use.operation not in self.inside for use in r.uses)
        )

    @cached_property
    def inputs(self) -> tuple[tuple[Operation, int], ...]:
        """Uses of values from outside that are read from memory."""
        return tuple((op, i) for op, i in self.related.inputs() if not is_number(op.operands[i]))

    def value(self, key: Key) -> SSAValue:
        """The value of a key."""
        return key[0].operands[key[1]] if isinstance(key, tuple) else key

    def axes_of(self, op: Operation) -> frozenset[int]:
        """The axes that an op works on, those that are derived as what they are derived from."""
        return self.related.of_op(op)

    def based(self, axes: Iterable[int]) -> frozenset[int]:
        """Axes, those that are derived as what they are derived from."""
        return frozenset(self.related.base(a) for a in axes)

    def depth_of(self, axes: frozenset[int]) -> int:
        """How many loops are around what has these axes: down to the innermost that moves it."""
        depth = 0
        for i, loop in enumerate(self.loops):
            if loop.axis in axes:
                depth = i + 1
        return depth

    def extent(self, axis: int) -> int:
        """Positions of an axis in one round."""
        derived = self.related.derived.get(axis)
        if derived is not None and self.related.base(axis) in self.extents:
            return derived.span(self.extent(derived.base), self.related.axes.size(axis))
        return self.extents.get(axis) or self.related.axes.size(axis)

    @cached_property
    def extents(self) -> Mapping[int, int]:
        """Positions in one round of the axes that are looped over."""
        return {loop.axis: loop.tile for loop in self.loops}

    def tile_elements(self, key: Key) -> int:
        """Elements of a tile of a value."""
        return prod(self.extent(axis) for axis in self.related.leaves(key))

    def rounds(self, depth: int) -> int:
        """Rounds of the `depth` outer loops together."""
        return prod(loop.rounds for loop in self.loops[:depth])

    @cached_property
    def batch(self) -> frozenset[int]:
        """Axes that are batch dimensions of a product."""
        found: set[int] = set()
        for op in self.ops:
            if op.name == "hlo.dot":
                dims = self.related.of(op.results[0])
                found.update(a for row in dims[: len(ints(op, "lhs_batch_dims"))] for a in row)
        return frozenset(found)

    def parallel(self) -> list[int]:
        """Axes that loops may be over: nothing is needed whole or summed up along them."""
        related = self.related
        found: dict[int, None] = {}
        overlapping: set[int] = set()
        for v in self.outputs:
            for axis in related.leaves(v):
                if axis in related.derived:
                    overlapping.add(related.base(axis))
                elif axis not in related.whole and axis not in related.reduced:
                    found[axis] = None
        overlapping |= {related.base(a) for a in related.reduced if a in related.derived}
        return [a for a in found if a not in overlapping]

    def summed(self) -> list[int]:
        """Axes that loops may be over in which partial results are added up: those who sum along
        them are read outside of the group only."""
        out: list[int] = []
        for axis, ops in self.related.reduced.items():
            if axis in self.related.whole or not all(_combines(op) for op in ops):
                continue
            last = all(use.operation not in self.inside for op in ops for use in op.results[0].uses)
            if last and not any(axis in self.related.leaves(v) for v in self.outputs):
                out.append(axis)
        return out


def _combines(op: Operation) -> bool:
    return op.name in ("hlo.reduce", "hlo.dot")


def is_number(value: SSAValue) -> bool:
    """Whether a value is one known number."""
    return (
        isinstance(value.owner, Operation)
        and value.owner.name == "hlo.constant"
        and (prod(shape_of(value)) == 1)
    )


def is_view(op: Operation) -> bool:
    """Whether an op takes no instruction. An array of constants is loaded as an argument is."""
    if op.name == "hlo.constant":
        return prod(shape_of(op.results[0])) == 1
    return op.name in VIEWS or is_cast(op)


def is_cast(op: Operation) -> bool:
    """Whether an op is a conversion that the transfer does which loads what it reads."""
    if op.name != "hlo.convert" or not all(
        isinstance(v.type, TensorType) and is_float(v.type.element_type)
        for v in (op.operands[0], op.results[0])
    ):
        return False
    value = op.operands[0]
    while isinstance(value.owner, Operation) and value.owner.name in VIEWS:
        if not value.owner.operands:
            return False
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        return not isinstance(value.owner.parent_op(), scf.ForOp)
    return is_source(value.owner)


def is_source(op: Operation | Block) -> bool:
    """Whether an op is an array of constants, or what a loop of the program reads: a slice, the
    number of the round; they stay where they are."""
    if not isinstance(op, Operation):
        return False
    if op.name in ("tensor.extract_slice", "tile.index") or op.name.startswith("arith."):
        return True
    return op.name == "hlo.constant" and prod(shape_of(op.results[0])) != 1


def root_of(value: SSAValue) -> SSAValue:
    """What a value is a view of, through all views."""
    while isinstance(value.owner, Operation) and is_view(value.owner) and value.owner.operands:
        value = value.owner.operands[0]
    return value


def views_between(value: SSAValue) -> Iterator[Operation]:
    """The views of which a value is made, the nearest first."""
    while isinstance(value.owner, Operation) and is_view(value.owner):
        yield value.owner
        if not value.owner.operands:
            return
        value = value.owner.operands[0]


def make_group(ops: Sequence[Operation], order: Mapping[Operation, int]) -> Group | None:
    """A group of ops and the views that they read; None where their axes do not go together."""
    members = set(ops)
    for op in ops:
        for v in op.operands:
            members.update(views_between(v))
    ordered = tuple(sorted(members, key=order.__getitem__))
    related = Related(ordered)
    return Group(ordered, related) if related.fits else None


def loaded(value: SSAValue) -> bool:
    """Whether a value is an argument of the function, but for its order and type."""
    while isinstance(value.owner, Operation):
        if not (is_view(value.owner) or value.owner.name == "hlo.convert"):
            return False
        if not value.owner.operands:
            return False
        value = value.owner.operands[0]
    return isinstance(value, BlockArgument)
