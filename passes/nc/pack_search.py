"""Search for packings depth first, over the orders in which buffers are placed bottom up.

The method of MiniMalloc (Moffitt, ASPLOS 2024): every packing can be obtained by placing buffers in
order of increasing offset, each as low as the previous ones allow. Time is divided into sections in
which the set of live buffers does not change. The floor of a section is the lowest offset available
to an unplaced buffer. A branch is pruned if the floor plus all unplaced buffers exceeds the
capacity. If no unplaced buffer crosses a section border, both sides are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.int64]
_NEVER = 1 << 62


@dataclass(slots=True)
class _Problem:
    """Buffers by number: their sizes, and the first section and the one after the last of each."""

    size: _Ints
    begin: _Ints
    end: _Ints
    live: npt.NDArray[np.bool_]  # [buffer, section]
    rank: _Ints  # the position in the order in which buffers are tried
    capacity: int
    nodes: int  # the remaining number of placements


_PATIENCE = 3
"""Steps for each buffer before another order is tried."""

LARGEST = 600
"""Limit of buffers in a search: each is a level of recursion."""


class _GivenUp(Exception):
    """Raised when the search has used its steps."""


def search(
    spans: Sequence[tuple[int, int, int]], capacity: int, nodes: int
) -> tuple[list[int] | None, int]:
    """Return offsets of buffers (size, first position, last position), and the remaining steps.

    The offsets are within `capacity`. They are None if there are none, if `nodes` steps do not find
    them, or if there are more than LARGEST buffers.
    """
    if not spans or len(spans) > LARGEST:
        return (None if spans else []), nodes
    size, first, last = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    starts = np.unique(first)
    begin = np.searchsorted(starts, first, "right") - 1
    end = np.searchsorted(starts, last, "right")
    load = np.zeros(len(starts) + 1, np.int64)
    np.add.at(load, begin, size)
    np.add.at(load, end, -size)
    load = np.cumsum(load)[:-1]
    if load.max() > capacity:
        return None, nodes
    sections = np.arange(len(starts))
    live = (begin[:, None] <= sections) & (end[:, None] > sections)
    fullest = np.array([load[b:e].max() for b, e in zip(begin, end, strict=True)])
    length = last - first + 1
    # Buffers are tried by area, by load of their sections, by length of their live range, or by
    # size. Further attempts perturb these keys by up to a quarter. Each attempt ends when it makes
    # no progress.
    area = size * length
    orders = ((fullest, area), (fullest, length), (size, length), (length, size))
    noise = np.random.default_rng(0)
    turn = 0
    while nodes > 0:
        away = noise.uniform(0.75, 1.25, (2, len(size))) if turn >= len(orders) else 1.0
        keys = -np.stack(orders[turn % len(orders)]) * away
        rank = np.empty(len(size), np.int64)
        rank[np.lexsort(tuple(keys))] = np.arange(len(size))
        share = min(nodes, _PATIENCE * len(size))
        problem = _Problem(size, begin, end, live, rank, capacity, share)
        try:
            found = _solve(problem, np.arange(len(size)), np.zeros(len(size), np.int64), load)
        except _GivenUp:
            nodes -= share
            turn += 1
            continue
        return (
            [int(o) for o in found] if found is not None else None
        ), nodes - share + problem.nodes
    return None, 0


def _solve(p: _Problem, left: _Ints, low: _Ints, load: _Ints) -> _Ints | None:
    """Return the offsets of all buffers with those of `left` placed; None if there is no way.

    `low` has the lowest possible offset of each buffer in `left`, and the offset of the others.
    `load` is the bytes of `left` by section.
    """
    parts = _parts(p, left)
    if len(parts) > 1:
        for part in parts:
            found = _solve(p, part, low, load)
            if found is None:
                return None
            low = found
        return low
    lows = low[left]
    # A buffer that fits entirely below another one is placed before it.
    ready = left[lows < (lows + p.size[left]).min()]
    for one in ready[np.lexsort((p.rank[ready], low[ready]))]:
        if p.nodes <= 0:
            raise _GivenUp
        p.nodes -= 1
        others = left[left != one]
        after = _put(p, one, others, low, load)
        if after is not None:
            found = _solve(p, others, *after) if others.size else after[0]
            if found is not None:
                return found
    return None


def _put(
    p: _Problem, one: int, others: _Ints, low: _Ints, load: _Ints
) -> tuple[_Ints, _Ints] | None:
    """Return `low` and `load` with buffer `one` at its lowest offset; None if others then do not
    fit.
    """
    at, begin, end = int(low[one]), int(p.begin[one]), int(p.end[one])
    rest = load.copy()
    rest[begin:end] -= p.size[one]
    if not others.size:
        return low, rest
    # Nothing is placed below `at` any more.
    meets = (p.begin[others] < end) & (p.end[others] > begin)
    lows = np.maximum(low[others], np.where(meets, at + p.size[one], at))
    if (lows + p.size[others] > p.capacity).any():
        return None
    first, last = int(p.begin[others].min()), int(p.end[others].max())
    floors = np.where(p.live[others, first:last], lows[:, None], _NEVER).min(axis=0)
    if (floors + rest[first:last] > p.capacity)[floors < _NEVER].any():
        return None
    lowest = low.copy()
    lowest[others] = lows
    return lowest, rest


def _parts(p: _Problem, left: _Ints) -> list[_Ints]:
    """Return sets of buffers that have no section in common."""
    order = left[np.argsort(p.begin[left], kind="stable")]
    reach = np.maximum.accumulate(p.end[order])
    cuts = np.nonzero(p.begin[order][1:] >= reach[:-1])[0] + 1
    return np.split(order, cuts) if cuts.size else [order]
