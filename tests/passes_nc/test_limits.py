"""What keeps large programs within the machine's numbers: semaphores, banks, whole stores."""

from types import SimpleNamespace
from typing import Any

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Affine
from neuronir.passes.nc.counters import Count
from neuronir.passes.nc.listing import Access
from neuronir.passes.nc.spill_plan import Use, uses_of
from neuronir.passes.nc.synchronise import _merged


def test_waits_on_one_semaphore_become_one() -> None:
    waits = [(3, Count(16, ())), (4, Count(1, ())), (3, Count(48, ())), (3, Count(8, ((0, 2),)))]
    assert _merged(waits) == [(3, Count(48, ())), (4, Count(1, ())), (3, Count(8, ((0, 2),)))]


def test_a_buffer_with_gaps_is_not_stored_as_a_whole() -> None:
    use = Use()
    use.note(0, 0, 64, 128, 64 * 128)
    use.note(1, 64, 128, 128, 64 * 128)
    assert use.whole(1)
    use = Use()
    use.note(0, 0, 64, 128, 64 * 128)
    use.note(1, 64, 128, 128, 64 * 128 - 4)
    assert use.whole(0)
    assert not use.whole(1)


def test_a_buffer_is_stored_only_where_it_has_no_gaps_yet() -> None:
    """Half of the partitions are a row ahead of the other half for a while."""
    use = Use()
    use.note(0, 0, 64, 64, 64 * 64)
    use.note(1, 0, 32, 128, 64 * 32)
    use.note(2, 32, 64, 128, 64 * 32)
    assert use.whole(0)
    assert not use.whole(1)
    assert use.whole(2)
    assert use.written_before(1) == (0, 64, 64)
    assert use.written_before(3) == (0, 64, 128)


def test_a_buffer_that_a_loop_fills_tile_by_tile_is_whole() -> None:
    """Its access pattern is that of one round, its bytes are those of all rounds."""
    tile = AccessPattern(Space.SBUF, DType.F32, Affine(0, ((0, 64),)), 0, 128, ((1, 16),))
    write = Access(0, 0, True, False, 0, 1024, 0, 128, False, tile, False, shape_of(tile))
    order: Any = [SimpleNamespace(accesses=[write])]
    buffers: Any = [SimpleNamespace(space=Space.SBUF)]
    assert uses_of(order, buffers, set())[0].whole(0)
