"""Early buffers in the ring of the weight stream: no two in the same bytes, and a larger ring."""

import numpy as np
import pytest

from neuronir.passes.nc.early import early_layouts
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item
from neuronir.passes.nc.streams import Slot, next_slot

CAPACITY = 1000


def items(seed: int) -> list[Item]:
    """Large buffers that die early, small ones all the time."""
    rng = np.random.default_rng(seed)
    out = []
    for key in range(60):
        first = int(rng.integers(0, 200))
        size = int(rng.integers(20, 160)) if first < 30 else int(rng.integers(5, 20))
        out.append(
            Item(key, 8 * (size // 8 + 1), first, min(199, first + int(rng.integers(1, 12))))
        )
    return out


@pytest.mark.parametrize("seed", range(8))
def test_items_do_not_meet(seed: int) -> None:
    given = items(seed)
    lives = {i.key: Life(i.first, i.last) for i in given}
    layouts = list(early_layouts(given, lives, 200, 4000))
    assert layouts
    for layout in layouts:
        assert layout.offsets.keys() == lives.keys()
        for a in given:
            for b in given:
                if a.key < b.key and a.first <= b.last and b.first <= a.last:
                    low, high = layout.offsets[a.key], layout.offsets[b.key]
                    assert low + a.size <= high or high + b.size <= low
        inside = {s.key for s in layout.taken}
        for i in given:  # what reaches into the ring is known there
            assert (layout.offsets[i.key] + i.size > layout.base) == (i.key in inside)


def test_the_ring_begins_where_lasting_buffers_end() -> None:
    given = [Item(0, 800, 0, 10), Item(1, 100, 5, 100), Item(2, 100, 50, 100)]
    lives = {i.key: Life(i.first, i.last) for i in given}
    layout = next(iter(early_layouts(given, lives, 100, CAPACITY)))
    assert layout.base == 200
    (slot,) = layout.taken
    assert (slot.key, slot.first, slot.last) == (0, 0, 10)
    # A weight that is used at place 60 can lie there from place 11 on.
    assert next_slot([slot], 0, 800, CAPACITY - layout.base, 60) == (0, 11)
    assert next_slot([slot], 0, 800, CAPACITY - layout.base, 10) is None


def test_what_does_not_fit_is_not_given() -> None:
    given = [Item(0, 900, 0, 10), Item(1, 200, 5, 100)]
    lives = {i.key: Life(i.first, i.last) for i in given}
    assert not list(early_layouts(given, lives, 100, CAPACITY))


def test_room_of_buffers_below_the_ring_is_not_given() -> None:
    below, reaching = Slot(-300, -200, 0, 10, 0), Slot(-200, 100, 0, 10, 1)
    full = Slot(0, CAPACITY, 0, 50, 2)
    # All of the ring is taken until place 50; what ends below it leaves no room in it.
    assert next_slot([below, full], 0, 100, CAPACITY, 20) is None
    assert next_slot([below, full], 0, 100, CAPACITY, 51) == (0, 51)
    assert next_slot([below, reaching], 0, 100, CAPACITY, 5) == (100, 0)
