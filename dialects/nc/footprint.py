"""Compute the bytes that an access touches, and whether two accesses overlap, exactly.

The verifier, dependence analysis, the race checker and the simulator share this routine. A
footprint is a set of partitions times a set of bytes `low + sum(stride_i * k_i) + [0, width)`. Two
footprints overlap if `sum(stride_j * x_j)` can fall into an interval for bounded integers `x_j`.
The search runs over strides from large to small. It is pruned by the range of the smaller strides
and by their greatest common divisor. Patterns are never expanded, so their size does not matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

from neuronir.dialects.nc.enums import AluOp, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction

Term = tuple[int, int, int]
"""(stride, lowest, highest): an integer between bounds (both inclusive) times a stride."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A byte set in normal form, relative to the address of its access pattern.

    `low` and `high` bound the set (`high` is exclusive). `dims` are (stride, count) pairs in bytes.
    Their strides increase and exceed `width`, the bytes of one contiguous run.
    """

    low: int
    high: int
    width: int
    dims: tuple[tuple[int, int], ...]


@lru_cache(maxsize=1 << 16)
def _shape(size: int, dims: tuple[tuple[int, int], ...]) -> Shape:
    """Return the normal form of elements of `size` bytes at strides `dims` (bytes, count), any
    order.
    """
    low = 0
    positive: list[tuple[int, int]] = []
    for stride, count in dims:
        if count == 1 or stride == 0:
            continue
        if stride < 0:
            low += stride * (count - 1)
            stride = -stride
        positive.append((stride, count))
    positive.sort()
    width = size
    rest: list[tuple[int, int]] = []
    for stride, count in positive:
        if not rest and stride <= width:
            width += stride * (count - 1)
            continue
        if rest:
            inner, n = rest[-1]
            if stride % inner == 0 and stride // inner <= n:
                rest[-1] = (inner, n + stride // inner * (count - 1))
                continue
        rest.append((stride, count))
    high = low + width + sum(stride * (count - 1) for stride, count in rest)
    return Shape(low, high, width, tuple(rest))


def shape_of(ap: AccessPattern) -> Shape:
    """Return the byte set of `ap` relative to its address (in HBM with the rows of all
    partitions).
    """
    size = ap.dtype.size
    dims = tuple((stride * size, count) for stride, count in ap.free)
    if ap.space == Space.HBM:
        dims += ((ap.partition_stride, ap.partitions),)
    return _shape(size, dims)


def hull(ap: AccessPattern, address: int) -> tuple[int, int]:
    """Return the first byte and the byte after the last one (in a partition, or in HBM) at
    `address`.
    """
    shape = shape_of(ap)
    return address + shape.low, address + shape.high


def hull_over(ap: AccessPattern, bounds: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the hull over all values of the symbols of the address; bounds are inclusive.

    A loop with trip count n has the bounds (0, n - 1).
    """
    low, high = affine_range(ap.address, bounds)
    shape = shape_of(ap)
    return low + shape.low, high + shape.high


def shape_over(ap: AccessPattern, bounds: Mapping[int, tuple[int, int]]) -> tuple[Shape, int]:
    """Return the bytes that `ap` touches for some values of its symbols, and their address.

    A register r from 0 to 2 in the address of a row, `4 * r + 100`, is a dimension of 3 rows.
    """
    size, address = ap.dtype.size, ap.address.const
    dims = [(stride * size, count) for stride, count in ap.free]
    if ap.space == Space.HBM:
        dims.append((ap.partition_stride, ap.partitions))
    for symbol, coefficient in ap.address.terms:
        low, high = bounds[symbol]
        address += low * coefficient
        dims.append((coefficient, high - low + 1))
    return _shape(size, tuple(dims)), address


def affine_range(value: Affine, bounds: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the lowest and highest value if each symbol lies within its (inclusive) bounds."""
    low = high = value.const
    for symbol, coefficient in value.terms:
        ends = (bounds[symbol][0] * coefficient, bounds[symbol][1] * coefficient)
        low += min(ends)
        high += max(ends)
    return low, high


def is_dense(free: Sequence[tuple[int, int]]) -> bool:
    """Return whether elements of free dimensions (stride, size), outermost first, are
    contiguous.
    """
    step = 1
    for stride, size in reversed(free):
        if stride != step:
            return False
        step *= size
    return True


def overlaps(a: AccessPattern, b: AccessPattern, address_a: int, address_b: int) -> bool:
    """Return whether `a` at byte address `address_a` and `b` at `address_b` share a byte. Exact."""
    if a.space != b.space:
        return False
    if a.space != Space.HBM and not (
        a.start < b.start + b.partitions and b.start < a.start + a.partitions
    ):
        return False
    shape_a = shape_of(a)
    shape_b = shape_of(b)
    return shapes_overlap(shape_a, shape_b, address_b - address_a)


def shapes_overlap(a: Shape, b: Shape, distance: int) -> bool:
    """Return whether two byte sets overlap if `b` is `distance` bytes after `a`."""
    if a.high <= b.low + distance or b.high + distance <= a.low:
        return False
    if not a.dims and not b.dims:
        return True
    key = (id(a), id(b), distance)
    found = _OVERLAPS.get(key)
    if found is None:
        if len(_OVERLAPS) >= _MOST_OVERLAPS:
            _OVERLAPS.clear()
        found = _OVERLAPS[key] = (_shapes_overlap(a, b, distance), a, b)
    return found[0]


_OVERLAPS: dict[tuple[int, int, int], tuple[bool, Shape, Shape]] = {}
"""Whether two byte sets overlap at a distance, by their identities, which the entries keep: equal
shapes are mostly one object, and their hashes would take longer than the rest."""

_MOST_OVERLAPS = 1 << 18


def _shapes_overlap(a: Shape, b: Shape, distance: int) -> bool:
    delta = b.low + distance - a.low
    terms = [(stride, 0, n - 1) for stride, n in a.dims]
    terms += [(-stride, 0, n - 1) for stride, n in b.dims]
    return feasible(terms, delta - a.width + 1, delta + b.width - 1)


def overlaps_for_some(
    a: AccessPattern,
    b: AccessPattern,
    bounds: Mapping[int, tuple[int, int]],
    *,
    shared: Mapping[int, tuple[int, int]] | None = None,
) -> bool:
    """Return whether `a` and `b` share a byte for some values of the symbols in their addresses.

    `bounds` gives inclusive bounds of every symbol. A symbol varies in `b` independently of `a`,
    unless `shared` names it. Then its value in `b` is its value in `a` plus a distance within the
    given inclusive bounds; (0, 0) means the same iteration of a loop.

    The result is exact with one exception: for a range of distances over which the coefficients of
    `a` and `b` differ, a distance may be combined with an iteration near the end of the loop. The
    result may then be conservative (True).
    """
    if a.space != b.space:
        return False
    if a.space != Space.HBM and not (
        a.start < b.start + b.partitions and b.start < a.start + a.partitions
    ):
        return False
    return shapes_meet(shape_of(a), a.address, shape_of(b), b.address, bounds, shared)


def shapes_meet(
    a: Shape,
    address_a: Affine,
    b: Shape,
    address_b: Affine,
    bounds: Mapping[int, tuple[int, int]],
    shared: Mapping[int, tuple[int, int]] | None = None,
) -> bool:
    """Implement `overlaps_for_some` for two byte sets of one memory with partitions in common."""
    terms_a, terms_b = address_a.terms, address_b.terms
    linked = shared or {}
    symbols = {symbol: None for symbol, _ in (*terms_a, *terms_b)}
    ranges = tuple((symbol, bounds[symbol], linked.get(symbol)) for symbol in symbols)
    return _shapes_meet(a, terms_a, b, terms_b, address_b.const - address_a.const, ranges)


@lru_cache(maxsize=1 << 16)
def _shapes_meet(
    a: Shape,
    terms_a: tuple[tuple[int, int], ...],
    b: Shape,
    terms_b: tuple[tuple[int, int], ...],
    distance: int,
    ranges: tuple[tuple[int, tuple[int, int], tuple[int, int] | None], ...],
) -> bool:
    terms = [(stride, 0, n - 1) for stride, n in a.dims]
    terms += [(-stride, 0, n - 1) for stride, n in b.dims]
    in_a, in_b = dict(terms_a), dict(terms_b)
    for symbol, (low, high), link in ranges:
        ca, cb = in_a.get(symbol, 0), in_b.get(symbol, 0)
        if link is not None:
            near, far = max(link[0], low - high), min(link[1], high - low)
            if near > far:
                return False
            if ca == cb:
                terms.append((-cb, near, far))
                continue
            if near == far:  # the same iteration, shifted: one shared value
                if near >= 0:
                    terms += [(ca - cb, low, high - near), (-cb, near, near)]
                else:
                    terms += [(ca - cb, low - near, high), (-cb, near, near)]
                continue
            terms += [(ca - cb, low, high), (-cb, near, far)]
            continue
        terms += [(ca, low, high), (-cb, low, high)]
    delta = distance + b.low - a.low
    return feasible(terms, delta - a.width + 1, delta + b.width - 1)


def feasible(terms: Iterable[Term], low: int, high: int) -> bool:
    """Return whether `low <= sum(stride * x) <= high` has an integer solution within the bounds."""
    merged: dict[int, tuple[int, int]] = {}
    for stride, first, last in terms:
        if stride < 0:
            stride, first, last = -stride, -last, -first
        if stride == 0:
            continue
        if first == last:
            low -= stride * first
            high -= stride * first
            continue
        before = merged.get(stride, (0, 0))
        merged[stride] = (before[0] + first, before[1] + last)
    # Shift every variable to start at zero; then all partial sums are at least zero.
    dims: list[tuple[int, int]] = []
    for stride, (first, last) in merged.items():
        low -= stride * first
        high -= stride * first
        dims.append((stride, last - first))
    dims.sort(reverse=True)
    n = len(dims)
    reach = [0] * (n + 1)  # the largest sum of strides i and later
    common = [0] * (n + 1)  # their greatest common divisor
    for i in range(n - 1, -1, -1):
        reach[i] = reach[i + 1] + dims[i][0] * dims[i][1]
        common[i] = gcd(common[i + 1], dims[i][0])
    return _search(dims, reach, common, 0, low, high, set())


def _search(
    dims: list[tuple[int, int]],
    reach: list[int],
    common: list[int],
    level: int,
    low: int,
    high: int,
    failed: set[tuple[int, int]],
) -> bool:
    if high < 0 or low > reach[level]:
        return False
    if low <= 0 or high >= reach[level]:
        return True  # all variables at zero, or all at their maximum
    # Here 0 < low and high < reach.
    if high < -(-low // common[level]) * common[level]:
        return False
    if level == len(dims) - 1:
        return True  # a multiple of the one remaining stride is in the interval and in reach
    if (level, low) in failed:
        return False
    stride, last = dims[level]
    first_x = max(0, -(-(low - reach[level + 1]) // stride))
    last_x = min(last, high // stride)
    for x in range(first_x, last_x + 1):
        moved = stride * x
        if _search(dims, reach, common, level + 1, low - moved, high - moved, failed):
            return True
    failed.add((level, low))
    return False


def _table(row: AccessPattern, params: Mapping[str, int | float]) -> AccessPattern:
    """Return the whole table of which `row` is one row: rows * row_stride bytes."""
    rows, stride = int(params["rows"]), int(params["row_stride"])
    if row.space == Space.HBM:
        return replace(row, partitions=rows, partition_stride=stride)
    return replace(row, free=((stride // row.dtype.size, rows), *row.free))


def accesses(instruction: Instruction) -> list[tuple[int, AccessPattern, bool]]:
    """Return every access as (operand, pattern, whether it writes), the writes first.

    `operand` is the position in `(*dst, *src)`. The accessed pattern is that of the operand, or the
    whole table of which the operand is one row. A destination that is accumulated or kept is also
    read.
    """
    params, opcode = instruction.params, instruction.opcode
    count = len(instruction.dst)
    found = [(k, ap, True) for k, ap in enumerate(instruction.dst) if ap is not None]
    if opcode == "dma_scatter":
        operand, row, _ = found[0]
        found = [(operand, _table(row, params), True)]
    written = len(found)
    found += [(k, ap, False) for k, ap in enumerate(instruction.src, count) if ap is not None]
    if opcode == "dma_gather":
        operand, row, _ = found[written]
        found[written] = operand, _table(row, params), False
    elif opcode == "copy_predicated" or (opcode == "matmul" and params.get("accumulate", 0)):
        found += [(k, ap, False) for k, ap, _ in found[:written]]
    elif opcode in ("dma", "dma_scatter") and params.get("accumulate", 0) != AluOp.BYPASS:
        found += [(k, ap, False) for k, ap, _ in found[:written]]
    return found


def reads(instruction: Instruction) -> tuple[AccessPattern, ...]:
    """Return every access that may read, including destinations that are accumulated or kept."""
    return tuple(ap for _, ap, write in accesses(instruction) if not write)


def writes(instruction: Instruction) -> tuple[AccessPattern, ...]:
    """Return every access that may write."""
    return tuple(ap for _, ap, write in accesses(instruction) if write)
