"""What keeps large programs within the machine's numbers: semaphores, banks, whole stores."""

from neuronir.passes.nc.counters import Count
from neuronir.passes.nc.spill import _Use
from neuronir.passes.nc.synchronise import _merged


def test_waits_on_one_semaphore_become_one() -> None:
    waits = [(3, Count(16, ())), (4, Count(1, ())), (3, Count(48, ())), (3, Count(8, ((0, 2),)))]
    assert _merged(waits) == [(3, Count(48, ())), (4, Count(1, ())), (3, Count(8, ((0, 2),)))]


def test_a_buffer_with_gaps_is_not_stored_as_a_whole() -> None:
    use = _Use(extents=[(0, 0, 64, 128), (1, 64, 128, 128)], written=128 * 128)
    assert use.whole
    use.written -= 4
    assert not use.whole
