"""What keeps large programs within the machine's numbers: semaphores, banks, whole stores."""

from types import SimpleNamespace
from typing import Any

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Affine
from neuronir.passes.nc.counters import Count
from neuronir.passes.nc.listing import Access
from neuronir.passes.nc.spill_extent import Written
from neuronir.passes.nc.synchronise import _merged


def test_waits_on_one_semaphore_become_one() -> None:
    waits = [(3, Count(16, ())), (4, Count(1, ())), (3, Count(48, ())), (3, Count(8, ((0, 2),)))]
    assert _merged(waits) == [(3, Count(48, ())), (4, Count(1, ())), (3, Count(8, ((0, 2),)))]


def written(*writes: tuple[int, int, int, int, int], place: int, low: int = 0) -> Written:
    """What writes (first and last byte, partitions, bytes), each at its place, have written."""
    found: list[tuple[int, Any]] = []
    for at, first, last, stop, count in writes:
        pattern = SimpleNamespace(bytes=count)
        access = SimpleNamespace(
            low=first, high=last, start=0, stop=stop, pattern=pattern, fixed=True, solid=False
        )
        found.append((at, access))
    return Written.before(found, place, low, 1024)


def test_a_buffer_with_gaps_is_not_stored_as_a_whole() -> None:
    halves = (0, 0, 64, 128, 64 * 128), (1, 64, 128, 128, 64 * 128)
    assert written(*halves, place=1).whole
    gap = (1, 64, 128, 128, 64 * 128 - 4)
    assert written(halves[0], gap, place=0).whole
    assert not written(halves[0], gap, place=1).whole


def test_a_buffer_is_stored_only_where_it_has_no_gaps_yet() -> None:
    """Half of the partitions are a row ahead of the other half for a while."""
    writes = (0, 0, 64, 64, 64 * 64), (1, 0, 32, 128, 64 * 32), (2, 32, 64, 128, 64 * 32)
    assert [written(*writes, place=p).whole for p in range(3)] == [True, False, True]
    assert written(*writes, place=0).extent == (0, 64, 64)
    assert written(*writes, place=2).extent == (0, 64, 128)


def test_a_part_of_a_buffer() -> None:
    """Of a write with gaps nobody knows what lies in a part of it; other parts do not matter."""
    writes = (0, 0, 512, 128, 512 * 128), (1, 512, 1024, 128, 4 * 128)
    assert not written(*writes, place=1).whole
    assert written(*writes, place=0, low=512).extent is None
    assert not written(*writes, place=1, low=512).whole
    assert not written(*writes, place=0, low=256).whole


def test_a_buffer_that_a_loop_fills_tile_by_tile_is_whole() -> None:
    """Its access pattern is that of one round, its bytes are those of all rounds."""
    tile = AccessPattern(Space.SBUF, DType.F32, Affine(0, ((0, 64),)), 0, 128, ((1, 16),))
    write = Access(0, 0, True, False, 0, 1024, 0, 128, False, tile, False, shape_of(tile))
    assert Written.before([(0, write)], 0, 0, 1024).whole
