"""Packing buffers that live at different times into one memory, offline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from neuronir.passes.nc.pack_search import search

_Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Item:
    """A buffer to place: `size` bytes from place `first` to place `last` (inclusive)."""

    key: int
    size: int
    first: int
    last: int


@dataclass(slots=True)
class Work:
    """How much the searches of a pass may still do, in steps times buffers."""

    left: int


@dataclass(slots=True)
class Packing:
    """Offsets by key, and the bytes that they take in all; whether a search followed, and by how
    many bytes that is less than without it."""

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


def pack(
    items: Sequence[Item],
    goal: int,
    rounds: int = 12,
    placed: Sequence[tuple[Item, int]] = (),
    work: Work | None = None,
) -> Packing:
    """Place the items, no two at once in the same bytes; stops at a height of at most `goal`.

    Those of `placed` have their offsets already.

    Each item goes to the lowest gap that it fits, in several orders; the best is then improved a
    bounded number of times by placing first whatever reached highest. Where that is not enough and
    nothing is placed already, a search follows that takes at most half of `work`.
    """
    best: Packing | None = None
    best_order: list[Item] = []
    for key in _ORDERS:
        order = sorted(items, key=key)
        packing = _place(order, placed)
        if best is None or packing.height < best.height:
            best, best_order = packing, order
        if best.height <= goal:
            return best
    if best is None:
        return Packing({}, 0)
    order, packing = best_order, best
    for _ in range(rounds):
        sizes = {i.key: i.size for i in items}
        top = max(order, key=lambda i: (packing.offsets[i.key] + sizes[i.key], -i.key))
        order = [top, *(i for i in order if i is not top)]
        packing = _place(order, placed)
        if packing.height < best.height:
            best = packing
        if best.height <= goal:
            break
    if best.height > goal and work is not None and not placed:
        greedy = best.height
        best = _search(items, goal, best, work)
        best.searched, best.saved = True, greedy - best.height
    return best


def _search(items: Sequence[Item], goal: int, best: Packing, work: Work) -> Packing:
    """The best packing that a search finds: of the height of the liveness bound, else of `goal`,
    else halfway between what is known to be possible and what was not found."""
    steps = work.left // 2 // len(items)
    spans = [(i.size, i.first, i.last) for i in items]
    bound = liveness_bound(items)
    wanted = max(goal, bound)
    height, missed = bound, bound
    # The tightest is often the easiest: more branches are given up early.
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
    """The most bytes that are live at once: no packing is lower."""
    changes: dict[int, int] = {}
    for item in items:
        changes[item.first] = changes.get(item.first, 0) + item.size
        changes[item.last + 1] = changes.get(item.last + 1, 0) - item.size
    return max(accumulate(changes[place] for place in sorted(changes)), default=0)


def _place(order: Sequence[Item], placed: Sequence[tuple[Item, int]] = ()) -> Packing:
    """Greedy placement, each item in the lowest gap among those that live when it does."""
    given = len(placed)
    n = given + len(order)
    first: _Ints = np.empty(n, np.int64)
    last: _Ints = np.empty(n, np.int64)
    low: _Ints = np.empty(n, np.int64)
    high: _Ints = np.empty(n, np.int64)
    offsets: dict[int, int] = {}
    height = 0
    for k, (item, begin) in enumerate(placed):
        first[k], last[k], low[k], high[k] = item.first, item.last, begin, begin + item.size
    for k, item in enumerate(order, given):
        begin = 0
        if k:
            at = np.nonzero((first[:k] <= item.last) & (last[:k] >= item.first))[0]
            if at.size:
                begin = lowest_gap(low[at], high[at], item.size)
        first[k], last[k], low[k], high[k] = item.first, item.last, begin, begin + item.size
        offsets[item.key] = begin
        height = max(height, begin + item.size)
    return Packing(offsets, height)


def lowest_gap(low: _Ints, high: _Ints, size: int) -> int:
    """The lowest address with `size` free bytes between intervals that may overlap."""
    by_low = np.argsort(low, kind="stable")
    starts = low[by_low]
    reach = np.maximum.accumulate(high[by_low])
    if starts[0] >= size:
        return 0
    gaps = np.nonzero(starts[1:] - reach[:-1] >= size)[0]
    return int(reach[gaps[0]]) if gaps.size else int(reach[-1])
