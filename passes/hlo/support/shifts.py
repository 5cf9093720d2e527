"""Move arrays along a dimension by a number that is computed, with selects of known slices."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, shape, tensor

Step = tuple[SSAValue, int]
"""Whether a start is in the upper half of the possible ones, and the distance it is moved down."""


def sliced(e: Builder, x: SSAValue, axis: int, start: SSAValue, size: int) -> SSAValue:
    """Return `size` elements of a dimension from `start` on, a scalar within bounds.

    Each step halves the number of possible starts: it selects the upper or the lower part. Rows of
    a table of n take about n + size log2(n) selections in all, which keep all bits of any type.
    """
    for upper, distance in _steps(e, start, shape(x)[axis] - size):
        n = shape(x)[axis]
        low, high = (part(x, axis, k, n - distance + k, e) for k in (0, distance))
        x = e.select(e.broadcast(upper, shape(low), ()), high, low)
    return x


def placed(e: Builder, x: SSAValue, axis: int, start: SSAValue, count: int) -> SSAValue:
    """Return `count` elements along a dimension that are `x` from `start` on; others are any.

    The reverse of `sliced`: each step adds elements at the end or at the begin. A single element is
    repeated.
    """
    dims = list(shape(x))
    if dims[axis] == 1:
        kept = [d for d in range(len(dims)) if d != axis]
        flat = e.reshape(x, [dims[d] for d in kept])
        dims[axis] = count
        return e.broadcast(flat, dims, kept)
    zero = e.scalar(0, element(x))
    for upper, distance in reversed(_steps(e, start, count - dims[axis])):
        ends = [0] * len(dims)
        edge = [distance if d == axis else 0 for d in range(len(dims))]
        low, high = e.pad(x, zero, ends, edge), e.pad(x, zero, edge, ends)
        x = e.select(e.broadcast(upper, shape(low), ()), high, low)
    return x


def covered(
    e: Builder, dims: Sequence[int], starts: dict[int, SSAValue], sizes: Sequence[int]
) -> SSAValue:
    """Return which elements of an array of `dims` are in the window of `sizes` at `starts`."""
    found: SSAValue | None = None
    for d, start in starts.items():
        place = e.iota((dims[d],), 0, element(start))
        first = e.compare(place, e.broadcast(start, (dims[d],), ()), "GE")
        end = e.broadcast(e.binary_number("add", start, sizes[d]), (dims[d],), ())
        inside = e.binary("and", first, e.compare(place, end, "LT"))
        inside = e.broadcast(inside, dims, [d])
        found = inside if found is None else e.binary("and", found, inside)
    return e.fill(1, tensor(tuple(dims), i1)) if found is None else found


def _steps(e: Builder, start: SSAValue, last: int) -> list[Step]:
    """Return the steps from starts in [0, last] to one start; `start` is a scalar."""
    found: list[Step] = []
    while last > 0:
        half = (last + 2) // 2
        distance = last - half + 1
        upper = e.compare_number(start, half, "GE")
        found.append((upper, distance))
        start = e.select(upper, e.binary_number("subtract", start, distance), start)
        last = half - 1
    return found


def part(x: SSAValue, axis: int, first: int, end: int, e: Builder) -> SSAValue:
    """Return the positions [first, end) along a dimension."""
    starts, limits = [0] * len(shape(x)), list(shape(x))
    starts[axis], limits[axis] = first, end
    return e.slice(x, starts, limits)
