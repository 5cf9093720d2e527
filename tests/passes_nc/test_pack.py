"""Packing buffers: never two at once in the same bytes, and the liveness bound on hard cases."""

from random import Random

import pytest

from neuronir.passes.nc.aside import step_aside
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Work, liveness_bound, pack
from neuronir.passes.nc.pack_search import LARGEST, search

HEIGHT = 1000


def without_gaps(count: int, seed: int) -> list[Item]:
    """A rectangle of time by memory, cut into `count` buffers: they fit it, and nothing less."""
    rng = Random(seed)
    parts = [(0, 1000, 0, HEIGHT)]
    while len(parts) < count:
        parts.sort(key=lambda p: -(p[1] - p[0]) * (p[3] - p[2]))
        first, last, low, high = parts.pop(rng.randrange(1 + len(parts) // 2))
        if rng.random() < 0.5 and last - first > 2:
            at = rng.randrange(first + 1, last)
            parts += [(first, at, low, high), (at, last, low, high)]
        elif high - low > 2:
            at = rng.randrange(low + 1, high)
            parts += [(first, last, low, at), (first, last, at, high)]
        else:
            parts.append((first, last, low, high))
    rng.shuffle(parts)
    return [Item(i, p[3] - p[2], p[0], p[1] - 1) for i, p in enumerate(parts)]


def check(items: list[Item], offsets: dict[int, int]) -> None:
    """No two buffers that live at once share a byte."""
    for n, a in enumerate(items):
        for b in items[:n]:
            if a.first <= b.last and b.first <= a.last:
                assert (
                    offsets[a.key] + a.size <= offsets[b.key]
                    or offsets[b.key] + b.size <= offsets[a.key]
                )


@pytest.mark.parametrize(("count", "seed"), [(50, 3), (100, 2), (100, 3)])
def test_the_search_reaches_the_bound_where_greed_does_not(count: int, seed: int) -> None:
    items = without_gaps(count, seed)
    assert liveness_bound(items) == HEIGHT
    assert pack(items, HEIGHT).height > HEIGHT
    found = pack(items, HEIGHT, work=Work(1_000_000))
    assert found.height == HEIGHT
    check(items, found.offsets)
    assert found == pack(items, HEIGHT, work=Work(1_000_000))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_found_is_a_packing(seed: int) -> None:
    items = without_gaps(150, seed)
    found = pack(items, HEIGHT, work=Work(100_000))
    assert HEIGHT <= found.height <= pack(items, HEIGHT).height
    assert found.height == max(found.offsets[i.key] + i.size for i in items)
    check(items, found.offsets)


def test_limits_of_the_search() -> None:
    assert search([], 10, 5) == ([], 5)
    assert search([(8, 0, 1), (8, 1, 2)], 15, 100) == (None, 100)  # both live at place 1
    assert search([(1, 0, 0)] * (LARGEST + 1), 1 << 40, 100) == (None, 100)
    assert search([(8, 0, 1), (8, 2, 3)], 8, 100) == ([0, 0], 98)


@pytest.mark.parametrize("seed", range(6))
def test_what_steps_aside_stays_a_packing_of_the_same_height(seed: int) -> None:
    items = without_gaps(60, seed)
    lives = {i.key: Life(i.first, i.last) for i in items}
    found = pack(items, HEIGHT)
    read = {i.key: i.last for i in items[::7]}
    step_aside(found, items, lives, read)
    assert max(found.offsets[i.key] + i.size for i in items) <= found.height
    check(items, found.offsets)


def test_a_buffer_goes_beside_one_that_a_transfer_reads() -> None:
    items = [Item(0, 10, 0, 1), Item(1, 10, 5, 6), Item(2, 30, 20, 21)]
    lives = {i.key: Life(i.first, i.last) for i in items}
    found = pack(items, 30)
    assert found.offsets[1] == 0
    step_aside(found, items, lives, {0: 1})
    assert found.offsets == {0: 0, 1: 10, 2: 0}  # the last one has nowhere else to go


def test_neighbours_that_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many buffers live at once to remember which, they are looked for each time."""
    items = without_gaps(60, 3)
    placed = [(Item(100 + i.key, i.size, i.first, i.last), 7 * i.key) for i in items[:5]]
    for given in ([], placed):
        expected = pack(items, 0, placed=given)
        with monkeypatch.context() as patch:
            patch.setattr("neuronir.passes.nc.pack._KEPT", 100)
            assert pack(items, 0, placed=given) == expected
