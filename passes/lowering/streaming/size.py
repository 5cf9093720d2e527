"""Estimate the SBUF size of values: in program order as a whole, and for a tile of a group.

Composites that are not one instruction count with the values inside them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.data_movement import BroadcastOp, GatherOp
from neuronir.dialects.hlo.linear import ConvolutionOp, DotOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.lowering.products.attention_match import match_attention
from neuronir.passes.lowering.products.epilogue import COMPOSITES
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling

SEED_SHARE = 4
"""A group starts at a value above this fraction of SBUF."""

VIEWS = ("hlo.constant", "hlo.broadcast", "hlo.reshape", "hlo.transpose", "hlo.iota")
"""Ops whose results take no memory."""

ARITHMETIC = ("hlo.add", "hlo.subtract", "hlo.multiply", "hlo.maximum")
"""Ops that an eviction from PSUM computes."""


def nbytes(ssa: SSAValue) -> int:
    """Return the bytes of a tensor value; 0 for other values."""
    if not isinstance(ssa.type, TensorType):
        return 0
    try:
        size = dtype_of(ssa.type.element_type).size
    except KeyError:
        size = 4
    return prod(ssa.type.get_shape()) * size


def loaded(value: SSAValue) -> bool:
    """Return whether a value is a parameter or constant, except for its order and type."""
    while isinstance(value.owner, Operation):
        if value.owner.name not in VIEWS and value.owner.name != "hlo.convert":
            return False
        if not value.owner.operands:
            return True
        value = value.owner.operands[0]
    return True


class _Step(NamedTuple):
    """An op with its operands and results; values in composites' regions have their outer names."""

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    inside: bool


def _steps(ops: Iterable[Operation], same: Mapping[SSAValue, SSAValue] = {}) -> list[_Step]:
    names = dict(same)
    out: list[_Step] = []

    def walk(inner: Iterable[Operation], inside: bool) -> None:
        for op in inner:
            operands = tuple([names.get(v, v) for v in op._operands])
            if op.regions and isinstance(op, CompositeOp) and op.kind.data not in COMPOSITES:
                block = op.regions[0].block
                last = block.last_op
                assert last is not None
                names.update(zip(block.args, operands, strict=True))
                if last.operands[0] not in names:
                    names[last.operands[0]] = op.results[0]
                walk([o for o in block.ops if o is not last], True)
                continue
            results: tuple[SSAValue, ...] = ()
            if operands and (op.name in VIEWS or _repeats(op, operands[0])):
                names[op.results[0]] = operands[0]
            else:
                results = tuple([names.get(v, v) for v in op.results])
            out.append(_Step(op, operands, results, inside))

    walk(ops, False)
    return out


def _repeats(op: Operation, source: SSAValue) -> bool:
    """Return whether an op slices a broadcast, whose `source` has fewer elements."""
    return op.name == "hlo.slice" and nbytes(source) < nbytes(op.results[0])


def _peak(
    steps: Sequence[_Step], size: Callable[[SSAValue], int], extra: Callable[[_Step], int]
) -> int:
    """Return the maximum live size, from the definition or first use of values to their last
    use.
    """
    first: dict[SSAValue, int] = {}
    last: dict[SSAValue, int] = {}
    for i, step in enumerate(steps):
        if step.op.name in VIEWS:
            continue
        for v in (*step.operands, *step.results):
            if v not in last:
                first[v] = i
            last[v] = i
    change = [0] * (len(steps) + 1)
    for v, i in first.items():
        n = size(v)
        change[i] += n
        change[last[v] + 1] -= n
    best = now = 0
    for step, c in zip(steps, change, strict=False):
        now += c
        best = max(best, now + extra(step))
    return best


def peak_bytes(
    ops: Sequence[Operation], machine: Machine, same: Mapping[SSAValue, SSAValue] = {}
) -> int:
    """Return the bytes that are live at once in program order, without views.

    A parameter counts from its first use, and a constant at each use (it can be loaded again).
    Constant tables that gathers read from HBM and the intermediate values of attention are not
    counted. A dot
    counts as the value after its eviction. Values in `same` are replaced by their representatives.
    """
    inside = attention_inside(ops, machine)
    left = (op for op in ops if not inside.intersection(op.results) or op.name == "hlo.dot")
    steps = _steps(left, same)
    users: dict[SSAValue, list[_Step]] = {}
    for step in steps:
        if step.op.name == "hlo.reshape":  # an eviction computes what follows it
            continue
        for v in dict.fromkeys(step.operands) if len(step.operands) > 1 else step.operands:
            if v in users:
                users[v].append(step)
            else:
                users[v] = [step]
    evicted: dict[SSAValue, SSAValue] = {}
    for step in steps:
        if isinstance(step.op, (DotOp, ConvolutionOp)):
            _follow(step.results[0], users, evicted)
    renamed = [_renamed(step, evicted) for step in steps]
    read = {v for v in users if getattr(v.owner, "name", "") == ConstantOp.name}
    tables = {v for v in read if all(isinstance(s.op, GatherOp) for s in users[v])}
    constants = read - tables
    free = tables | inside | constants
    return _peak(
        renamed,
        lambda v: 0 if v in free else nbytes(v),
        lambda step: sum([nbytes(v) for v in constants.intersection(step.operands)]),
    )


def _renamed(step: _Step, names: dict[SSAValue, SSAValue]) -> _Step:
    """Return the step with other names for the values that have one."""
    if names.keys().isdisjoint((*step.operands, *step.results)):
        return step
    operands = tuple(names.get(v, v) for v in step.operands)
    return _Step(step.op, operands, tuple(names.get(v, v) for v in step.results), step.inside)


def _follow(
    product: SSAValue, users: dict[SSAValue, list[_Step]], evicted: dict[SSAValue, SSAValue]
) -> None:
    """Map a dot and the values after it that its eviction computes to the evicted value.

    The eviction (epilogue.py) computes arithmetic, then a function, then a convert.
    """
    chain = [product]
    plain = True
    while True:
        after = users.get(chain[-1], [])
        if len(after) != 1 or len(after[0].results) != 1:
            break
        op, result = after[0].op, after[0].results[0]
        if not isinstance(result.type, TensorType):
            break
        function = op.name in ACTIVATIONS or isinstance(op, CompositeOp)
        if op.name != "hlo.convert" and not (plain and (function or op.name in ARITHMETIC)):
            break
        if prod(shape_of(result)) != prod(shape_of(product)):
            break
        chain.append(result)
        plain = plain and not function
    evicted.update(dict.fromkeys(chain, chain[-1]))


def attention_inside(ops: Sequence[Operation], machine: Machine) -> set[SSAValue]:
    """Return values that are never whole, because attention is computed in blocks."""
    found = (match_attention(op, machine) for op in ops)
    return {v for a in found if a is not None for v in a.inside()}


def tile_bytes(
    ops: Sequence[Operation],
    tiling: Tiling,
    share: float,
    machine: Machine,
) -> tuple[int, int]:
    """Return the bytes per partition of a group's whole values, and of the tiles of an iteration.

    A tile is that `share` of the tiled dimension.
    """
    n = machine.partitions
    inside = attention_inside(ops, machine)
    steps = _steps(op for op in ops if not inside.intersection(op.results) or op.name == "hlo.dot")
    known = set(tiling)
    inner = {v for step in steps if step.inside for v in step.results if v not in known}
    whole: dict[SSAValue, int] = {}
    for op in ops:
        for v in op.operands:
            if tiling.get(v, WHOLE) == WHOLE and shape_of(v):
                repeated = isinstance(op, BroadcastOp)
                whole[v] = max(whole.get(v, 0), nbytes(v) if repeated else -(-nbytes(v) // n))

    def tile(v: SSAValue) -> int:
        if v in inside or (tiling.get(v, WHOLE) == WHOLE and v not in inner):
            return 0
        return int(nbytes(v) * share / n) + 1

    def copies(step: _Step) -> int:
        if not isinstance(step.op, DotOp):
            return 0
        return sum(tile(v) for v in step.operands)

    return sum(whole.values()), _peak(steps, tile, copies)
