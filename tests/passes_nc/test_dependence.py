"""Dependences on accesses with gaps: the same as of single bytes, from work linear in the reads."""

import random

import pytest

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Affine
from neuronir.passes.nc.dependence import Memory
from neuronir.passes.nc.listing import Access, Bounds

_BOUNDS: Bounds = {}


def _access(node: int, write: bool, at: int, *free: tuple[int, int]) -> Access:
    """Float32 elements of partition 0, from byte `at`, at strides of (elements, count)."""
    pattern = AccessPattern(Space.SBUF, DType.F32, Affine(at, ()), 0, 1, free)
    shape = shape_of(pattern)
    low, high = at + shape.low, at + shape.high
    return Access(node, 0, write, False, low, high, 0, 1, not shape.dims, pattern, True, shape)


def _bytes(access: Access) -> set[int]:
    found = {access.low + k for k in range(access.shape.width)}
    for stride, count in access.shape.dims:
        found = {at + stride * k for at in found for k in range(count)}
    return found


@pytest.mark.parametrize("ordered", [False, True])
def test_accesses_with_gaps_follow_those_of_the_same_bytes(ordered: bool) -> None:
    """Whatever an access follows shares a byte; the last write of each byte is always found, or
    with in-order engines a later access of its engine.
    """
    rng = random.Random(1)
    for _ in range(150):
        streams = [rng.randrange(-1, 3) for _ in range(30)]
        memory = Memory(_BOUNDS, streams if ordered else None)
        touched: list[tuple[set[int], bool]] = []
        last: dict[int, int] = {}  # by byte, the last write
        reads: dict[int, set[int]] = {}  # by byte, the reads since then
        for node in range(30):
            rows, columns = rng.choice([(1, 8), (2, 1), (3, 2), (2, 4), (9, 1), (30, 2)])
            stride = rng.randint(columns, 24)
            access = _access(
                node, rng.random() < 0.4, 4 * rng.randrange(40), (stride, rows), (1, columns)
            )
            found: dict[int, bool] = {}
            memory.meet(access, found)
            memory.note(access)
            mine = _bytes(access)
            wanted = {last[b] for b in mine if b in last}
            if access.write:
                wanted = wanted.union(*(reads.get(b, set()) for b in mine))
            if ordered:
                latest = {streams[n]: n for n in sorted(found)}
                wanted = {n for n in wanted if streams[n] < 0 or n > latest.get(streams[n], -1)}
            assert wanted <= set(found)
            for other in found:
                share, written = touched[other]
                assert share & mine and (written or access.write)
            touched.append((mine, access.write))
            for b in mine:
                if access.write:
                    last[b], reads[b] = node, set()
                else:
                    reads.setdefault(b, set()).add(node)


def test_reads_with_gaps_are_recorded_once_a_row() -> None:
    """A transpose that transfers pairs of elements: each pair lies across all the others."""
    memory = Memory(_BOUNDS)
    count = 200
    for node in range(count):
        memory.note(_access(node, False, 4 * node, (count, 2)))
    assert sum(len(interval.reads) for interval in memory.intervals) == 2 * count


def test_columns_of_an_image_are_met_where_they_have_bytes() -> None:
    """Each column splits the first row, and the next one is compared with its own part only."""
    memory = Memory(_BOUNDS)
    for node in range(200):
        column = _access(node, True, 4 * node, (200, 32))
        assert len(memory._touched(column)) <= 8
        memory.note(column)
