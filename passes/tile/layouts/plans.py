"""Define plans of ops: the partitions of operands and result, with their cost.

Each family of ops has a rule in an open registry, like the lowering rules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.tile.rules import ELEMENTWISE, combiner, shape_of
from neuronir.passes.hlo.support.values import integer, ints
from neuronir.passes.lowering.layouts.layout import span
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.costs import ELEMENT_NS, START_NS, Costs, contiguous
from neuronir.passes.tile.layouts.maps import (
    Partition,
    cut,
    everywhere,
    own,
    pieces_of,
    positions,
    through_dims,
)
from neuronir.passes.tile.layouts.short_rows import least_row
from neuronir.passes.tile.row_composites import axis_of, row_passes, rule_name


@dataclass(frozen=True)
class Plan:
    """A plan: the partition of each operand (None: any) and of the result, and the time in ns.

    `stationary` is the operand of a dot whose rows become partitions.
    """

    needs: tuple[Partition | None, ...]
    result: Partition | None
    cost: float
    stationary: int = -1


PlanRule = Callable[[Operation, Costs], list[Plan]]
_RULES: dict[str, PlanRule] = {}


def register_plans(*names: str) -> Callable[[PlanRule], PlanRule]:
    """Register the rule of the ops of these names."""

    def register(rule: PlanRule) -> PlanRule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


def has_plans(op: Operation) -> bool:
    """Return whether an op has a rule."""
    return rule_name(op) in _RULES


def plans_of(op: Operation, costs: Costs) -> list[Plan]:
    """Return the plans of an op."""
    return _RULES[rule_name(op)](op, costs)


def dtype(value: SSAValue) -> DType:
    """Return the element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return dtype_of(value.type.element_type)


PASSES = {"hlo.select": 2.0, "hlo.divide": 3.0, "hlo.power": 3.0, "hlo.remainder": 2.0}
"""The number of instructions over all elements, for ops that need other than one and a half."""


@register_plans(*ELEMENTWISE, "hlo.bitcast_convert", "hlo.composite")
def _elementwise(op: Operation, costs: Costs) -> list[Plan]:
    shape = shape_of(op.results[0])
    passes = PASSES.get(op.name, 1.2)
    out = []
    for c in costs.candidates(op.results[0]):
        needs = tuple(
            c if shape_of(v) == shape else everywhere(1, costs.limit) for v in op.operands
        )
        cost = costs.elementwise(shape, c, passes)
        out.append(Plan(needs, c, cost + _spread_rows(op, c, costs)))
    return out


TENSOR_PASSES = 2.4
"""The extra time of an instruction with two fp32 tiles, which only DVE can execute, over one with a
per-partition scalar, which ACT can execute too.
"""


def _spread_rows(op: Operation, c: Partition, costs: Costs) -> float:
    """Return the extra time of a broadcast operand that is not one scalar per row of a partition.

    Such an operand becomes a tile.
    """
    shape = shape_of(op.results[0])
    wide = [v.owner for v in op.operands if shape_of(v) == shape]
    small = [o for o in wide if isinstance(o, Operation) and o.name == "hlo.broadcast"]
    if len(wide) != 2 or len(small) != 1 or dtype(op.operands[0]) is not DType.F32:
        return 0.0
    (spread,) = small
    varies = [
        d
        for d, n in zip(ints(spread, "dimensions"), shape_of(spread.operands[0]), strict=True)
        if n > 1
    ]
    pieces = cut(own(c, prod(shape)), shape)
    if not varies or pieces is None:
        return 0.0
    left = list(shape)
    for a, _, d in pieces:
        left[d] //= a.size
    last = max((d for d in varies if left[d] > 1), default=-1)
    row = prod(left[last + 1 :])
    if last < 0 or row >= least_row(op, costs.machine):
        rows = prod(left) // max(1, row)
        return costs.weights.vector * (rows - 1) * START_NS
    return costs.elementwise(shape, c, TENSOR_PASSES)


@register_plans("hlo.iota")
def _iota(op: Operation, costs: Costs) -> list[Plan]:
    shape = shape_of(op.results[0])
    # if costs are equal, prefer the partition of a loaded array, which has contiguous elements
    some = sorted(
        candidates(shape, costs.limit),
        key=lambda c: -contiguous(c, prod(shape)) if own(c, prod(shape)) else 0,
    )
    return [Plan((), c, costs.elementwise(shape, c, 2.0)) for c in some]


@register_plans("hlo.reduce")
def _reduce(op: Operation, costs: Costs) -> list[Plan]:
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    reduced = ints(op, "dimensions")
    kept = [d for d in range(len(source)) if d not in reduced]
    dims = [None if d in reduced else kept.index(d) for d in range(len(source))]
    out = []
    size = prod(source)
    single = dtype(op.results[0]) is DType.F32
    for c in candidates(source, costs.limit):
        pieces = cut(own(c, size), source)
        if pieces is None:
            continue
        cost = costs.elementwise(source, c, 1.6)
        across = {d in reduced for _, _, d in pieces}
        if True not in across:
            result = through_dims(own(c, size), source, shape, dims)
            if own(c, size) != c:
                result = everywhere(prod(shape), costs.limit)
            if result is not None and costs.fits(shape, dtype(op.results[0]), result):
                out.append(Plan((c, None), result, cost))
            continue
        if not single or combiner(op) not in ("hlo.add", "hlo.maximum", "hlo.minimum"):
            continue
        result = through_dims(c, source, shape, dims)
        adds = combiner(op) == "hlo.add"
        if False not in across and adds:
            result = everywhere(prod(shape), costs.limit)
        fits = result is not None and costs.fits(shape, dtype(op.results[0]), result)
        if fits and span(c) == positions(c):
            assert result is not None
            cost += _across(prod(shape) // max(1, positions(own(result, prod(shape)))), costs, adds)
            out.append(Plan((c, None), result, cost))
    return out


@register_plans("hlo.composite.first_match")
def _first_match(op: Operation, costs: Costs) -> list[Plan]:
    """Plan rows on the free axis: one pass of DVE, and two of ACT."""
    assert isinstance(op, CompositeOp)
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    axis = axis_of(op)
    dims = [None if d == axis else d - (d > axis) for d in range(len(source))]
    out = []
    for c in candidates(source, costs.limit):
        pieces = cut(own(c, prod(source)), source)
        if own(c, prod(source)) != c or pieces is None or any(d == axis for _, _, d in pieces):
            continue
        result = through_dims(c, source, target, dims)
        if result is not None:
            out.append(Plan((c, result), result, costs.elementwise(source, c, row_passes(op))))
    return out


@register_plans("hlo.composite.sort_rows", "hlo.composite.sort_pairs")
def _sort_rows(op: Operation, costs: Costs) -> list[Plan]:
    """Plan rows on the free axis, and a network of comparisons."""
    assert isinstance(op, CompositeOp)
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    axis, size = axis_of(op), prod(source)
    out = []
    for c in candidates(source, costs.limit):
        pieces = cut(own(c, size), source)
        if own(c, size) != c or pieces is None or any(d == axis for _, _, d in pieces):
            continue
        dims = [d if source[d] == target[d] else None for d in range(len(source))]
        result = through_dims(c, source, target, dims)
        if result is not None:
            cost = costs.elementwise(source, c, row_passes(op))
            out.append(Plan((c,) * len(op.operands), result, cost))
    return out


@register_plans("hlo.composite.top_rows", "hlo.composite.top_codes")
def _top(op: Operation, costs: Costs) -> list[Plan]:
    """Plan rows on the free axis: up to three instructions for every eight elements."""
    assert isinstance(op, CompositeOp)
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    last, size = len(source) - 1, prod(source)
    out = []
    for c in candidates(source, costs.limit):
        pieces = cut(own(c, size), source)
        if own(c, size) != c or pieces is None or any(d == last for _, _, d in pieces):
            continue
        result = through_dims(c, source, target, [*range(last), None])
        if result is not None:
            out.append(Plan((c,), result, costs.elementwise(source, c, row_passes(op))))
    return out


def _across(columns: int, costs: Costs, adds: bool) -> float:
    """Return the time of reducing that many elements of each partition over partitions."""
    m = costs.machine
    if adds:
        pe = m.fp32_passes * (columns + m.matmul_min_cycles + m.matmul_overhead_cycles) / m.pe_ghz
        return costs.weights.pe * pe + costs.weights.vector * (columns * ELEMENT_NS + 2 * START_NS)
    blocks = 2 * -(-costs.limit // 32) * -(-columns // 32)
    return costs.weights.vector * (blocks + 3) * 75.0


def kept_and_reduced(
    op: Operation, partition: Partition
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Split the digits (size, step) of a reduction's operand on partitions into kept and reduced.

    Digits that repeat the operand are kept. Raises NeuronError if a digit spans dimensions.
    """
    reduced = ints(op, "dimensions")
    pieces = pieces_of(partition, shape_of(op.operands[0]))
    groups: list[list[tuple[int, int]]] = [[], []]
    for a, step, d in pieces:
        groups[d in reduced].append((a.size, step))
    return groups[0], groups[1]


@register_plans("hlo.concatenate", "hlo.pad", "hlo.reverse")
def _pieces(op: Operation, costs: Costs) -> list[Plan]:
    shape = shape_of(op.results[0])
    if op.name == "hlo.reverse":
        along = {d for d in ints(op, "dimensions") if shape[d] > 1}
        pieces = list(op.operands)
    elif op.name == "hlo.pad":
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        along = {d for name in names for d, n in enumerate(ints(op, name)) if n}
        pieces = [op.operands[0]]
    else:
        along = {integer(op, "dimension")}
        pieces = list(op.operands)
    out = []
    same = list(range(len(shape)))
    for c in candidates(shape, costs.limit):
        parts = cut(c, shape)
        if parts is None or any(d in along or d < 0 for _, _, d in parts):
            continue
        needs = [through_dims(c, shape, shape_of(v), same) for v in pieces]
        if op.name == "hlo.pad":
            needs.append(None)
        out.append(Plan(tuple(needs), c, costs.elementwise(shape, c, 1.2)))
    return out
