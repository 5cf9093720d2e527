"""List plans of a dot: which contracted digits, or rows of the result, are on partitions."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.interface import REDUCED, tiling_of
from neuronir.dialects.tile.rules import contracting, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Atom, atom, row_major, span
from neuronir.passes.tile.layouts.candidates import candidates, digits
from neuronir.passes.tile.layouts.costs import ELEMENT_NS, START_NS, Costs
from neuronir.passes.tile.layouts.maps import (
    Partition,
    cut,
    in_order,
    own,
    positions,
    through_dims,
)
from neuronir.passes.tile.layouts.plans import Plan, dtype, register_plans


@register_plans("hlo.dot")
def _dot(op: Operation, costs: Costs) -> list[Plan]:
    out = []
    rows = [
        (which, result)
        for which in (0, 1)
        for result in (
            *rows_of_result(op, which, costs.machine.pe_columns),
            *_rows_of_slices(op, which, costs),
        )
    ]
    rows += [(which, r) for which, own_ in rows for r in beside_rows(op, own_, costs.machine)]
    for k in contracted_digits(op, costs.limit):
        depth = positions(k[0])
        beside = beside_contraction(op, k, costs.machine)
        for which, result in rows:
            cost = product_ns(op, which, depth, result, costs)
            out += [
                Plan(needs, result, cost, which)
                for needs in (k, *beside)
                if not _crosses(op, needs, result)
            ]
    return [*out, *_rows_of_batches(op, costs)]


def _crosses(op: Operation, needs: tuple[Partition, Partition], result: Partition) -> bool:
    """Return whether the operands and the result divide a dimension of the batch in ways that
    have no common refinement: 6 as 2 x 3 and as 3 x 2.
    """
    kinds = [shape_of(v) for v in (*op.operands, op.results[0])]
    lhs, rhs = (ints(op, name) for name in ("lhs_batch_dims", "rhs_batch_dims"))
    for dims in zip(lhs, rhs, range(len(lhs)), strict=True):
        ends = set()
        for d, shape, partition in zip(dims, kinds, (*needs, result), strict=True):
            stride = row_major(shape)[d]
            inner = {c for a, _ in partition for c in (a.stride, a.end)}
            ends |= {c // stride for c in inner if stride < c < stride * shape[d]}
        points = sorted(ends)
        if any(b % a for a, b in pairwise(points)):
            return True
    return False


def parts_of_partitions(machine: Machine, size: int) -> int:
    """Return how many groups of `size` partitions fit after each other, each usable alone."""
    starts = machine.partition_starts.get(size, ())
    return len(starts) if starts == tuple(range(0, len(starts) * size, size)) else 1


def beside_rows(op: Operation, rows: Partition, machine: Machine) -> list[Partition]:
    """Put rows of a dot on partitions, with digits of the batch next to them.

    Different products then write to different partitions.
    """
    if span(rows) != positions(rows):
        return []
    shape = shape_of(op.results[0])
    out: dict[Partition, None] = {}
    for d in range(len(ints(op, "lhs_batch_dims"))):
        for a in digits(shape, d, parts_of_partitions(machine, span(rows))):
            if a.size > 1:
                out[in_order([(a, span(rows)), *rows])] = None
    return list(out)


def beside_contraction(
    op: Operation, k: tuple[Partition, Partition], machine: Machine
) -> list[tuple[Partition, Partition]]:
    """Put contracted digits on partitions, together with digits of the batch.

    Each product then reads other partitions, whose first one must be a valid start partition.
    """
    depth = positions(k[0])
    most = parts_of_partitions(machine, depth)
    if span(k[0]) != depth or most < 2:
        return []
    shapes = [shape_of(v) for v in op.operands]
    strides = [row_major(s) for s in shapes]
    dims = [ints(op, name) for name in ("lhs_batch_dims", "rhs_batch_dims")]
    out: dict[tuple[Partition, Partition], None] = {}
    for left, right in zip(*dims, strict=True):
        for a in digits((shapes[0][left],), 0, most):
            if a.size == 1:
                continue
            both = [
                in_order([(atom(a.size, a.stride * strides[which][d]), depth), *k[which]])
                for which, d in enumerate((left, right))
            ]
            out[both[0], both[1]] = None
    return list(out)


MOST_STEPS = 64
"""Up to this contraction size, DVE multiplies and adds instead of PE."""


def vector_side(op: Operation) -> int | None:
    """Return the operand of a dot that is a scalar per batch and contraction position, or None.

    The contraction must be short.
    """
    if not ints(op, "lhs_batch_dims"):
        return None
    steps = prod(shape_of(op.operands[0])[d] for d in contracting(op)[0])
    if steps > MOST_STEPS:
        return None
    shape = shape_of(op.results[0])
    for which in (0, 1):
        if all(shape[to] == 1 for _, to in free_dims(op, which)):
            return which
    return None


def _rows_of_batches(op: Operation, costs: Costs) -> list[Plan]:
    """Plan products of scalars and rows on DVE, with the batch on partitions."""
    side = vector_side(op)
    if side is None or dtype(op.results[0]) is not DType.F32:
        return []
    shape = shape_of(op.results[0])
    steps = prod(shape_of(op.operands[0])[d] for d in contracting(op)[0])
    batch = len(ints(op, "lhs_batch_dims"))
    out = []
    for c in candidates(shape, costs.limit):
        pieces = cut(c, shape)
        if not c or pieces is None or any(d < 0 or d >= batch for _, _, d in pieces):
            continue
        needs = []
        for which, name in enumerate(("lhs_batch_dims", "rhs_batch_dims")):
            dims = ints(op, name)
            renamed = through_dims(
                c, shape, shape_of(op.operands[which]), [*dims, *[None] * (len(shape) - batch)]
            )
            needs.append(renamed)
        if None in needs:
            continue
        left = prod(shape) // positions(c)
        rows = prod(shape[:batch]) // positions(c)
        cost = steps * (left * 2 * ELEMENT_NS + rows * START_NS) * costs.weights.vector
        out.append(Plan(tuple(needs), c, cost))
    return out


def contracted_digits(op: Operation, limit: int) -> list[tuple[Partition, Partition]]:
    """Return contracted digits that both operands may have on partitions."""
    dims = contracting(op)
    shapes = [shape_of(v) for v in op.operands]
    strides = [row_major(s) for s in shapes]
    pairs = [(a, b) for a, b in zip(*dims, strict=True) if shapes[0][a] > 1]
    if not pairs:
        return [((), ())]
    found: dict[tuple[Partition, Partition], None] = {}

    def add(parts: Sequence[tuple[Atom, int, int]]) -> None:
        """(digit in positions of its dimension, pair, step) of each part."""
        both = []
        for which in (0, 1):
            both.append(
                in_order(
                    (atom(a.size, a.stride * strides[which][pairs[p][which]]), s)
                    for a, p, s in parts
                )
            )
        found[both[0], both[1]] = None

    for p, (a, _) in enumerate(pairs):
        n = shapes[0][a]
        for digit in digits((n,), 0, limit):
            add([(digit, p, 1)])
        if n <= limit // 2:
            for q, (b, _) in enumerate(pairs):
                if q != p:
                    for digit in digits((shapes[0][b],), 0, limit // n):
                        add([(digit, q, n), (atom(n, 1), p, 1)])
    if not found:
        return [((), ())]
    most = max(positions(k) for k, _ in found)
    return [k for k in found if 2 * positions(k[0]) > most]


def free_dims(op: Operation, which: int) -> list[tuple[int, int]]:
    """Return (operand dimension, result dimension) of dot dimensions neither batch nor
    contracted.
    """
    tiling = tiling_of(op)
    assert tiling is not None
    batch = len(ints(op, "lhs_batch_dims"))
    return [
        (d, n) for d, n in enumerate(tiling.operands[which]) if isinstance(n, int) and n >= batch
    ]


def rows_of_result(op: Operation, which: int, limit: int) -> list[Partition]:
    """Return the partitions of a dot whose stationary operand has number `which`."""
    shape = shape_of(op.results[0])
    dims = [to for _, to in free_dims(op, which) if shape[to] > 1]
    found: dict[Partition, None] = {}
    for d in dims:
        for a in digits(shape, d, limit):
            found[((a, 1),)] = None
        if shape[d] <= limit // 2:
            (whole,) = digits(shape, d, shape[d])
            for e in dims:
                if e != d:
                    for a in digits(shape, e, limit // shape[d]):
                        # rows that are contiguous in HBM are one transfer
                        pairs = [(a, shape[d]), (whole, 1)]
                        if e > d:
                            pairs = [(whole, a.size), (a, 1)]
                        found[in_order(pairs)] = None
    if not found:
        return [()]
    most = max(positions(p) for p in found)
    return [p for p in found if 4 * positions(p) > most]


def _rows_of_slices(op: Operation, which: int, costs: Costs) -> list[Partition]:
    """Add variants for slices of the result that need other partitions: digits that divide them."""
    value = op.results[0]
    shape = shape_of(value)
    dims = {to for _, to in free_dims(op, which)}
    found = []
    for p in costs.extras.get(value, ()):
        pieces = cut(p, shape)
        if own(p, prod(shape)) == p and pieces is not None and {d for _, _, d in pieces} <= dims:
            if positions(p) <= costs.machine.pe_columns and span(p) == positions(p):
                found.append(p)
    return found


def product_ns(op: Operation, which: int, depth: int, result: Partition, costs: Costs) -> float:
    """Return the PE time of a dot and the time of its evictions."""
    m = costs.machine
    shape = shape_of(op.results[0])
    border = prod(shape[len(ints(op, "lhs_batch_dims")) :])
    rows = prod([a.size for a, _ in result if a.stride < border])
    lhs = shape_of(op.operands[which])
    tiling = tiling_of(op)
    assert tiling is not None
    k = prod(n for n, need in zip(lhs, tiling.operands[which], strict=True) if need is REDUCED)
    columns = prod(shape[to] for _, to in free_dims(op, 1 - which))
    tiles = prod(shape) // max(1, columns) // rows * -(-k // max(1, depth))
    bank = m.psum_bank_bytes // 4
    streams = -(-columns // bank)
    passes = m.fp32_passes if dtype(op.operands[0]) is DType.F32 else 1
    width = max(m.matmul_min_cycles, columns / streams)
    each = width + m.matmul_overhead_cycles + rows / m.stationary_load_divisor
    pe = tiles * streams * passes * each / m.pe_ghz
    out = costs.elementwise(shape, (), 1.0) / max(1, positions(result))
    return costs.weights.pe * pe + out
