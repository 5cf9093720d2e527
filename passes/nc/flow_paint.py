"""Compute the visible parts of several writes in a read: areas of partitions and bytes.

A read with few separate bytes is painted byte by byte, others as runs of bytes; the areas are
equal. They are relative to the read and cached, because tiles, columns and rows overlap in the same
ways repeatedly.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.footprint import Shape, shapes_overlap

Area = tuple[tuple[int, int, bytes], ...]
"""Partitions (start, end, relative to those of a read) and their bytes, as starts and ends of
intervals relative to the lowest byte of the read (int64).
"""

_LARGEST = 1 << 20  # granules of a shape that are painted one by one
_MOST_PAINTED = 1 << 14  # runs of a read and its writes that are painted
_SHORT = 256  # runs of a read and its writes up to which arrays are not used
_LONG = 16  # granules of a run, on average, from which arrays are not used
_FEW = 256  # granules of a read for which arrays are not used
_MOST_RUNS = 1 << 12  # limit of pieces of a region


class Region:
    """Partitions `start` to `stop` times the bytes of `shape` at `address`."""

    __slots__ = ("start", "stop", "address", "shape", "low", "high")

    def __init__(self, start: int, stop: int, address: int, shape: Shape) -> None:
        self.start = start
        self.stop = stop
        self.address = address
        self.shape = shape
        self.low = address + shape.low
        self.high = address + shape.high

    def meets(self, other: "Region") -> bool:
        """Return whether two regions share a byte of a partition."""
        if self.high <= other.low or other.high <= self.low:
            return False
        if self.stop <= other.start or other.stop <= self.start:
            return False
        if not self.shape.dims and not other.shape.dims:
            return True
        return shapes_overlap(self.shape, other.shape, other.address - self.address)

    def covers(self, other: "Region") -> bool:
        """Return whether the region covers `other`, as far as a quick test can tell."""
        if self.start > other.start or self.stop < other.stop:
            return False
        if not self.shape.dims:
            return self.low <= other.low and other.high <= self.high
        return self.address == other.address and self.shape == other.shape

    def moved(self, partitions: int, size: int) -> "Region":
        """Return the region shifted by some partitions and bytes."""
        return Region(
            self.start + partitions, self.stop + partitions, self.address + size, self.shape
        )

    def within(self, other: "Region") -> "list[Region] | None":
        """Return the part inside a region without gaps; None if it would be too many regions.

        Runs at a stride that are inside as a whole are one region.
        """
        start, stop = max(self.start, other.start), min(self.stop, other.stop)
        pieces = _inside(self.low, self.shape.width, self.shape.dims, other.low, other.high)
        found = list(islice(pieces, _MOST_RUNS + 1))
        if len(found) > _MOST_RUNS:
            return None
        return [Region(start, stop, low, shape) for low, shape in found]


def _inside(
    at: int, width: int, dims: tuple[tuple[int, int], ...], low: int, high: int
) -> Iterator[tuple[int, Shape]]:
    """Yield the bytes from `low` to `high` of runs of `width` bytes at strides `dims` from `at` on,
    as addresses and shapes.
    """
    extent = width + sum(stride * (count - 1) for stride, count in dims)
    if low <= at and at + extent <= high:
        yield at, _strided(width, dims)
        return
    if at >= high or at + extent <= low:
        return
    if not dims:
        first, end = max(at, low), min(at + width, high)
        yield first, run(end - first)
        return
    *inner, (stride, count) = dims
    rest = tuple(inner)
    block = extent - stride * (count - 1)
    first = min(count, max(0, -((at - low) // stride)))  # of the blocks that are inside as a whole
    end = max(first, min(count, (high - block - at) // stride + 1))
    for k in range(first):
        yield from _inside(at + k * stride, width, rest, low, high)
    if end - first > 1:
        yield at + first * stride, _strided(width, (*rest, (stride, end - first)))
    elif end > first:
        yield at + first * stride, _strided(width, rest)
    for k in range(end, count):
        yield from _inside(at + k * stride, width, rest, low, high)


@lru_cache(maxsize=1 << 14)
def _strided(width: int, dims: tuple[tuple[int, int], ...]) -> Shape:
    """Return the shape of runs of `width` bytes at strides from 0 on."""
    if not dims:
        return run(width)
    return Shape(0, width + sum(stride * (count - 1) for stride, count in dims), width, dims)


@lru_cache(maxsize=1 << 12)
def run(size: int) -> Shape:
    """Return the shape of this many contiguous bytes."""
    return Shape(0, size, size, ())


def solid(start: int, stop: int, low: int, high: int) -> Region:
    """Return a region without gaps."""
    return Region(start, stop, low, run(high - low))


@dataclass(slots=True)
class Write:
    """A value in memory: its producer, and the address of its first byte.

    The address is None if all bytes are equal.
    """

    time: int
    value: int
    partition: int
    byte: int | None


UNWRITTEN = -1
"""Return the value of bytes that were never written."""


def union(areas: list[Area]) -> Area:
    """Return all bytes of disjoint areas.

    Writes that were not painted (TooLarge) stay separate.
    """
    if any(not runs for area in areas for _, _, runs in area):
        return tuple(sorted(rows for area in areas for rows in area))
    edges = sorted({edge for area in areas for rows in area for edge in rows[:2]})
    out: list[tuple[int, int, bytes]] = []
    for first, stop in zip(edges, edges[1:], strict=False):
        found = [
            np.frombuffer(runs, np.int64).reshape(2, -1)
            for area in areas
            for start, end, runs in area
            if start <= first and stop <= end
        ]
        if not found:
            continue
        both = np.concatenate(found, axis=1)
        begins, ends = both[:, both[0].argsort()]
        kept = begins[1:] != ends[:-1]  # a run that starts where another one ends is merged with it
        begins, ends = begins[np.append(True, kept)], ends[np.append(kept, True)]
        runs = begins.tobytes() + ends.tobytes()
        if out and out[-1][1:] == (first, runs):
            out[-1] = (out[-1][0], stop, runs)
        else:
            out.append((first, stop, runs))
    return tuple(out)


def paint(read: Region, writes: list[Region]) -> list[Area]:
    """Return the area that each write, oldest first, contributes to a read, and last the area that
    no write covers.

    Raises TooLarge if there are too many parts.
    """
    ends = {read.start, read.stop}
    for write in writes:
        ends |= {p for p in (write.start, write.stop) if read.start < p < read.stop}
    edges = sorted(ends)
    grain = _grain(read, writes)
    shapes = [read.shape, *(write.shape for write in writes if write.shape.dims)]
    granules = [shape.width // grain * _count(shape) for shape in shapes]
    seen = [_meeting(write, read) for write in writes if write.shape.dims]
    most, parts = max(granules), _count(read.shape) + sum(map(len, seen)) + len(writes)
    if most > _LARGEST:
        return _paint_runs(read, writes, edges)
    if granules[0] <= _FEW and len(shapes) == 1:
        return _paint_few(read, writes, edges, _granules(read.shape, grain).tolist(), grain)
    if parts <= _SHORT or most > _LONG * parts:
        return _paint_runs(read, writes, edges)
    places = _granules(read.shape, grain)
    out: list[list[tuple[int, int, bytes]]] = [[] for _ in range(len(writes) + 1)]
    for first, stop in zip(edges, edges[1:], strict=False):
        left = places
        for i in reversed(range(len(writes))):
            write = writes[i]
            if write.start > first or write.stop < stop or not len(left):
                continue
            mine = _within(left, write, write.address - read.address, read.shape.low, grain)
            if mine.any():
                _add(out[i], first - read.start, stop - read.start, left[mine], grain)
                left = left[~mine]
        if len(left):
            _add(out[-1], first - read.start, stop - read.start, left, grain)
    return [tuple(area) for area in out]


def _count(shape: Shape) -> int:
    """Return the number of runs of a shape."""
    return prod([count for _, count in shape.dims])


def _meeting(write: Region, read: Region) -> range:
    """Return the numbers of those runs of a write that the bytes from the first to the last one of
    a read meet; of all runs if there are very many.
    """
    count = _count(write.shape)
    if count > _MOST_PAINTED:
        return range(count)
    begins, ends = _intervals(write.shape)
    away = read.low - write.low
    return range(bisect_right(ends, away), bisect_left(begins, away + read.high - read.low))


def _paint_runs(read: Region, writes: list[Region], edges: list[int]) -> list[Area]:
    """Compute the same for a read with few runs, or many granules, run by run."""
    seen = [_meeting(write, read) for write in writes]
    if _count(read.shape) + sum(map(len, seen)) > _MOST_PAINTED:
        raise TooLarge
    out: list[list[tuple[int, int, bytes]]] = [[] for _ in range(len(writes) + 1)]
    for first, stop in zip(edges, edges[1:], strict=False):
        begins, ends = map(list, _intervals(read.shape))
        for i in reversed(range(len(writes))):
            write = writes[i]
            if write.start > first or write.stop < stop or not begins:
                continue
            mine: tuple[list[int], list[int]] = ([], [])
            lows, highs = _intervals(write.shape)
            away = write.low - read.low
            for k in seen[i]:
                _take(begins, ends, lows[k] + away, highs[k] + away, mine)
            if mine[0]:
                runs = array("q", mine[0] + mine[1]).tobytes()
                _join(out[i], first - read.start, stop - read.start, runs)
        if begins:
            runs = array("q", begins + ends).tobytes()
            _join(out[-1], first - read.start, stop - read.start, runs)
    return [tuple(area) for area in out]


def _take(
    begins: list[int], ends: list[int], low: int, high: int, out: tuple[list[int], list[int]]
) -> None:
    """Move the parts of sorted runs between two bytes to the end of other runs, which precede
    them.
    """
    i, j = bisect_right(ends, low), bisect_left(begins, high)
    if i >= j:
        return
    inside = [(max(b, low), min(e, high)) for b, e in zip(begins[i:j], ends[i:j], strict=True)]
    outside = [(b, e) for b, e in ((begins[i], low), (high, ends[j - 1])) if b < e]
    begins[i:j], ends[i:j] = [b for b, _ in outside], [e for _, e in outside]
    for b, e in inside:
        if out[1] and out[1][-1] == b:
            out[1][-1] = e
        else:
            out[0].append(b)
            out[1].append(e)


@lru_cache(maxsize=256)
def _intervals(shape: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the starts and ends of the runs of a shape, relative to its lowest byte."""
    at = np.zeros(1, np.int64)
    for stride, count in shape.dims:
        at = (np.arange(count, dtype=np.int64)[:, None] * stride + at).reshape(-1)
    begins: list[int] = []
    ends: list[int] = []
    for first in sorted(at.tolist()):
        if ends and first <= ends[-1]:
            ends[-1] = first + shape.width
        else:
            begins.append(first)
            ends.append(first + shape.width)
    return tuple(begins), tuple(ends)


def _paint_few(
    read: Region, writes: list[Region], edges: list[int], places: list[int], grain: int
) -> list[Area]:
    """Compute the same for a read with few granules, in order, if writes have no gaps."""
    spans = [
        (
            (write.address - read.address + write.shape.low - read.shape.low) // grain,
            (write.address - read.address + write.shape.high - read.shape.low) // grain,
        )
        for write in writes
    ]
    out: list[list[tuple[int, int, bytes]]] = [[] for _ in range(len(writes) + 1)]
    for first, stop in zip(edges, edges[1:], strict=False):
        left = places
        for i in reversed(range(len(writes))):
            if writes[i].start > first or writes[i].stop < stop:
                continue
            low = bisect_left(left, spans[i][0])
            high = bisect_left(left, spans[i][1], low)
            if high > low:
                runs = _runs(left[low:high], grain)
                _join(out[i], first - read.start, stop - read.start, runs)
                left = left[:low] + left[high:]
                if not left:
                    break
        if left:
            _join(out[-1], first - read.start, stop - read.start, _runs(left, grain))
    return [tuple(area) for area in out]


def _runs(places: list[int], grain: int) -> bytes:
    """Return the starts and ends of the intervals that granules form."""
    begins, ends = [places[0] * grain], []
    for before, after in pairwise(places):
        if after != before + 1:
            ends.append((before + 1) * grain)
            begins.append(after * grain)
    ends.append((places[-1] + 1) * grain)
    return array("q", begins + ends).tobytes()


def _grain(read: Region, writes: list[Region]) -> int:
    """Return the grain size: every edge is a multiple of it away from the read's edge."""
    grain = 0
    for region in (read, *writes):
        shape = region.shape
        grain = gcd(grain, shape.width, *(stride for stride, _ in shape.dims))
        grain = gcd(grain, region.low - read.low)
    return grain


@lru_cache(maxsize=256)
def _granules(shape: Shape, grain: int) -> NDArray[np.int64]:
    """Return the bytes of a shape in grains, relative to its lowest byte, in order."""
    at = np.arange(shape.width // grain, dtype=np.int64)
    reach, apart = shape.width, True
    for stride, count in shape.dims:
        at = (np.arange(count, dtype=np.int64)[:, None] * (stride // grain) + at).reshape(-1)
        apart = apart and stride >= reach
        reach += stride * (count - 1)
    return at if apart else np.unique(at)


class TooLarge(Exception):
    """Raised if a read has too many separate bytes to be painted."""


def _within(
    places: NDArray[np.int64], write: Region, distance: int, low: int, grain: int
) -> NDArray[np.bool_]:
    """Return which grains of a read belong to a write `distance` bytes after it."""
    first = (distance + write.shape.low - low) // grain
    last = (distance + write.shape.high - low) // grain
    inside = (places >= first) & (places < last)
    if write.shape.dims and inside.any():
        written = _granules(write.shape, grain)
        wanted = places[inside] - first
        inside[inside] = written[np.searchsorted(written, wanted, "right") - 1] == wanted
    return inside


def _add(
    area: list[tuple[int, int, bytes]],
    start: int,
    stop: int,
    places: NDArray[np.int64],
    grain: int,
) -> None:
    """Add the bytes of some partitions to an area."""
    breaks = np.flatnonzero(np.diff(places) != 1)
    begins = places[np.concatenate(([0], breaks + 1))] * grain
    ends = (places[np.concatenate((breaks, [len(places) - 1]))] + 1) * grain
    _join(area, start, stop, begins.tobytes() + ends.tobytes())


def _join(area: list[tuple[int, int, bytes]], start: int, stop: int, runs: bytes) -> None:
    """Add the bytes of some partitions to an area, merging equal neighbours."""
    if area and area[-1][1] == start and area[-1][2] == runs:
        area[-1] = (area[-1][0], stop, runs)
    else:
        area.append((start, stop, runs))
