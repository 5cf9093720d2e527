"""Pack buffers with different live ranges into one memory, offline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from neuronir.passes.nc.pack_search import search

_Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Item:
    """A buffer to place: `size` bytes from position `first` to position `last` (inclusive)."""

    key: int
    size: int
    first: int
    last: int


@dataclass(slots=True)
class Work:
    """The remaining search budget of a pass, in steps times buffers."""

    left: int


@dataclass(slots=True)
class Packing:
    """Offsets by key, and the total height.

    Also records whether a search followed, and the bytes that it saved.
    """

    offsets: dict[int, int]
    height: int
    searched: bool = False
    saved: int = 0


_ORDERS: tuple[Callable[[Item], tuple[int, ...]], ...] = (
    lambda i: (-i.size, i.first, i.key),
    lambda i: (-(i.last - i.first), -i.size, i.key),
    lambda i: (-i.size * (i.last - i.first + 1), i.first, i.key),
    lambda i: (i.first, -(i.last - i.first), i.key),
)


_KEPT = 1 << 23
"""Limit of conflicting pairs for which the conflicts are precomputed."""
_NOWHERE = 1 << 40
"""The address of an unplaced item: above all others."""


def pack(
    items: Sequence[Item],
    goal: int,
    rounds: int = 12,
    placed: Sequence[tuple[Item, int]] = (),
    work: Work | None = None,
) -> Packing:
    """Place the items so that no two live ones overlap; stop at a height of at most `goal`.

    Items of `placed` keep their offsets. Each item goes to the lowest gap that it fits, in several
    orders. The best result is improved a bounded number of times by placing the highest items
    first. If that is not enough and nothing was placed before, a search follows that takes at most
    half of `work`.
    """
    if not items:
        return Packing({}, 0)
    greedy = _Greedy(items, placed)
    best: Packing | None = None
    best_order: list[Item] = []
    for key in _ORDERS:
        order = sorted(items, key=key)
        packing = greedy.place(order)
        if best is None or packing.height < best.height:
            best, best_order = packing, order
        if best.height <= goal:
            return best
    assert best is not None
    order, packing = best_order, best
    for _ in range(rounds):
        top = max(order, key=lambda i: (packing.offsets[i.key] + i.size, -i.key))
        order = [top, *(i for i in order if i is not top)]
        packing = greedy.place(order)
        if packing.height < best.height:
            best = packing
        if best.height <= goal:
            break
    if best.height > goal and work is not None and not placed:
        height = best.height
        best = _search(items, goal, best, work)
        best.searched, best.saved = True, height - best.height
    return best


def _search(items: Sequence[Item], goal: int, best: Packing, work: Work) -> Packing:
    """Return the best packing that a search finds.

    The target height is the liveness bound, then `goal`, then halfway between the known feasible
    height and the last failure.
    """
    steps = work.left // 2 // len(items)
    spans = [(i.size, i.first, i.last) for i in items]
    bound = liveness_bound(items)
    wanted = max(goal, bound)
    height, missed = bound, bound
    # The tightest target is often the easiest, because more branches are cut early.
    for share in (3, 3, 3, 3, 2, 1):
        found, left = search(spans, height, steps // share)
        used = steps // share - left
        steps -= used
        work.left -= used * len(items)
        if found is not None:
            tops = [o + i.size for o, i in zip(found, items, strict=True)]
            best = Packing({i.key: o for i, o in zip(items, found, strict=True)}, max(tops))
        else:
            missed = max(missed, height)
        if best.height <= wanted:
            break
        height = wanted if missed < wanted else (missed + best.height) // 2
        if height >= best.height - 1:
            break
    return best


def liveness_bound(items: Sequence[Item]) -> int:
    """Return the maximum of the bytes that are live at once: a lower bound of any packing."""
    changes: dict[int, int] = {}
    for item in items:
        changes[item.first] = changes.get(item.first, 0) + item.size
        changes[item.last + 1] = changes.get(item.last + 1, 0) - item.size
    return max(accumulate(changes[place] for place in sorted(changes)), default=0)


class _Greedy:
    """Greedy placements of the same items in successive orders.

    Each item takes the lowest gap among the items before it with overlapping live ranges, and among
    `placed`.
    """

    def __init__(self, items: Sequence[Item], placed: Sequence[tuple[Item, int]]) -> None:
        every = [*items, *(item for item, _ in placed)]
        self._number = {item.key: i for i, item in enumerate(items)}
        self._first: _Ints = np.array([item.first for item in every], np.int64)
        self._last: _Ints = np.array([item.last for item in every], np.int64)
        self._low: _Ints = np.array([_NOWHERE] * len(items) + [o for _, o in placed], np.int64)
        self._high = self._low + np.array([item.size for item in every], np.int64)
        self._meeting: dict[int, _Ints] = {}
        self._room = _KEPT

    def place(self, order: Sequence[Item]) -> Packing:
        """Place all items in this order."""
        low, high, number = self._low, self._high, self._number
        low[: len(order)] = _NOWHERE  # They come last, after a gap for anything, wherever they end.
        offsets: dict[int, int] = {}
        height = 0
        for item in order:
            i = number[item.key]
            meeting = self._meets(i)
            begin = lowest_gap(low[meeting], high[meeting], item.size) if meeting.size else 0
            low[i], high[i] = begin, begin + item.size
            offsets[item.key] = begin
            height = max(height, begin + item.size)
        return Packing(offsets, height)

    def _meets(self, number: int) -> _Ints:
        """Return the numbers of all other items with overlapping live ranges."""
        known = self._meeting.get(number)
        if known is None:
            first, last = self._first, self._last
            there = (first <= last[number]) & (last >= first[number])
            there[number] = False
            known = there.nonzero()[0]
            self._room -= known.size
            if self._room >= 0:
                self._meeting[number] = known
        return known


def lowest_gap(low: _Ints, high: _Ints, size: int) -> int:
    """Return the lowest address with `size` free bytes between intervals that may overlap."""
    by_low = low.argsort(kind="stable")
    starts = low[by_low]
    if starts[0] >= size:
        return 0
    reach = np.maximum.accumulate(high[by_low])
    gaps = (starts[1:] - reach[:-1] >= size).nonzero()[0]
    return int(reach[gaps[0]]) if gaps.size else int(reach[-1])
