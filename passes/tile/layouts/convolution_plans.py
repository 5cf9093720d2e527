"""List plans of a convolution: features on partitions, and the choice of the stationary side."""

from math import prod
from typing import cast

from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.convolution.numbers import Numbers, numbers_of_op
from neuronir.passes.lowering.layouts.layout import Atom, atom, row_major
from neuronir.passes.tile.layouts.candidates import digits
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.maps import Partition, in_order, positions
from neuronir.passes.tile.layouts.plans import Plan, dtype, register_plans


@register_plans("hlo.convolution")
def _convolution(op: Operation, costs: Costs) -> list[Plan]:
    n = numbers_of_op(cast(ConvolutionOp, op))
    image, kernel = (shape_of(v) for v in op.operands)
    out = shape_of(op.results[0])
    inside = kernel[n.k_in]
    depths = digits((inside,), 0, costs.limit)
    most = max((a.size for a in depths), default=1)
    plans: list[Plan] = []
    deep: list[Atom | None] = [a for a in depths if 2 * a.size > most]
    for depth in deep or [None]:
        needs = (
            _digit(depth, row_major(image)[n.feature]),
            _digit(depth, row_major(kernel)[n.k_in]),
        )
        for result in _features(n, out, costs.machine.pe_columns):
            cost = _time(op, n, costs, depth, positions(result), kernel_moves=False)
            plans.append(Plan(needs, result, cost, 1))
        if n.groups == 1:
            for result in _pixels(n, out, costs.machine.pe_columns):
                cost = _time(op, n, costs, depth, positions(result), kernel_moves=True)
                plans.append(Plan(needs, result, cost, 0))
    return plans


def _digit(depth: Atom | None, stride: int) -> Partition:
    return () if depth is None else ((atom(depth.size, depth.stride * stride), 1),)


def _features(n: Numbers, out: tuple[int, ...], limit: int) -> list[Partition]:
    """Put features of the result on partitions."""
    stride = row_major(out)[n.o_feature]
    found = digits((out[n.o_feature] // n.groups,), 0, limit)
    return [((atom(a.size, a.stride * stride), 1),) for a in found] or [()]


def _pixels(n: Numbers, out: tuple[int, ...], limit: int) -> list[Partition]:
    """Put spatial positions of the result on partitions: a dimension, or two together."""
    strides = row_major(out)
    dims = [d for d in (n.o_batch, *n.o_spatial) if out[d] > 1]
    found: dict[Partition, None] = {}
    for d in dims:
        for a in digits(out, d, limit):
            found[((a, 1),)] = None
        if out[d] <= limit // 2:
            for e in dims:
                if e != d:
                    for a in digits(out, e, limit // out[d]):
                        whole = atom(out[d], strides[d])
                        # rows that are contiguous in HBM are one transfer
                        pairs = [(a, out[d]), (whole, 1)]
                        if e > d:
                            pairs = [(whole, a.size), (a, 1)]
                        found[in_order(pairs)] = None
    most = max((positions(p) for p in found), default=1)
    return [p for p in found if 2 * positions(p) > most]


def _time(
    op: Operation, n: Numbers, costs: Costs, depth: Atom | None, rows: int, *, kernel_moves: bool
) -> float:
    m = costs.machine
    kernel, out = shape_of(op.operands[1]), shape_of(op.results[0])
    taps = prod(kernel[d] for d in n.k_spatial)
    steps = taps * (kernel[n.k_in] // (depth.size if depth else 1))
    total = prod(out)
    columns = out[n.o_feature] if kernel_moves else total // out[n.o_feature]
    tiles = max(1, total // max(1, rows) // columns)
    streams = -(-columns // (m.psum_bank_bytes // 4))
    passes = m.fp32_passes if dtype(op.operands[0]) is DType.F32 else 1
    width = max(m.matmul_min_cycles, columns / streams)
    each = width + m.matmul_overhead_cycles + rows / m.stationary_load_divisor
    pe = tiles * streams * steps * passes * each / m.pe_ghz
    return costs.weights.pe * pe + costs.elementwise(out, (), 1.0) / max(1, rows)
