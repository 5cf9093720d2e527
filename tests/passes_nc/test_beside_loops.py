"""Bytes for what is loaded behind a loop: nobody else's while the loop runs, and never too many."""

from hypothesis import given
from hypothesis import strategies as st

from neuronir.passes.nc.beside_loops import Loops, beside_loops
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Packing, pack

LOOP = Life(10, 49)


def _apart(items: list[Item], packing: Packing) -> bool:
    """Whether no two items that live at once have bytes in common."""
    return all(
        packing.offsets[a.key] + a.size <= packing.offsets[b.key]
        or packing.offsets[b.key] + b.size <= packing.offsets[a.key]
        for a in items
        for b in items
        if a.key < b.key and a.first <= b.last and b.first <= a.last
    )


def _beside(items: list[Item], loops: Loops, limit: int) -> tuple[Packing, list[Item]]:
    lives = {i.key: Life(i.first, i.last) for i in items}
    packing, longer, count = beside_loops(pack(items, 0), items, lives, loops, limit)
    assert (count > 0) == (list(longer) != items) and count <= len(loops.leads)
    return packing, list(longer)


def test_a_load_keeps_clear_of_a_loop() -> None:
    """The lowest bytes are those of the loop; there is room above."""
    items = [Item(0, 64, 10, 49), Item(1, 32, 55, 80)]
    assert pack(items, 0).offsets[1] < 64
    packing, longer = _beside(items, Loops(leads={1: 10}), 96)
    assert packing.offsets[1] >= 64 and longer[1].first == 10
    packing, longer = _beside(items, Loops(leads={1: 10}), 95)  # no room
    assert packing.offsets[1] < 64 and longer == items


def test_what_is_loaded_first_comes_first() -> None:
    """There is room for one of two beside the loop."""
    items = [Item(0, 64, 10, 49), Item(1, 32, 60, 80), Item(2, 32, 55, 80)]
    packing, _ = _beside(items, Loops(leads={1: 10, 2: 10}), 96)
    assert packing.offsets[2] >= 64 > packing.offsets[1]


def test_buffers_of_the_loop_do_not_meet_in_the_next_round() -> None:
    """Two that follow each other in a round have bytes of their own."""
    items = [Item(0, 32, 10, 20), Item(1, 32, 30, 49), Item(2, 32, 55, 80)]
    rounds = {0: LOOP, 1: LOOP}
    packing, _ = _beside(items, Loops(rounds, {2: 10}), 96)
    assert sorted(packing.offsets.values()) == [0, 32, 64]
    packing, longer = _beside(items, Loops(rounds, {2: 10}), 64)
    assert longer == items


@given(st.data())
def test_never_too_many_bytes(data: st.DataObject) -> None:
    """Whatever lives when, the items stay apart for as long as they live, below the limit."""
    items, loops = [], Loops()
    for key in range(data.draw(st.integers(1, 12))):
        first = data.draw(st.integers(0, 99))
        last = data.draw(st.integers(first, 99))
        items.append(Item(key, 8 * data.draw(st.integers(1, 8)), first, last))
        if LOOP.first <= first and last <= LOOP.last:
            loops.rounds[key] = LOOP
        elif first > LOOP.last and data.draw(st.booleans()):
            loops.leads[key] = LOOP.first
    height = pack(items, 0).height
    limit = height + 8 * data.draw(st.integers(0, 16))
    packing, longer = _beside(items, loops, limit)
    assert packing.height <= limit and packing.offsets.keys() == {i.key for i in items}
    assert _apart(items, packing) and _apart(longer, packing)
