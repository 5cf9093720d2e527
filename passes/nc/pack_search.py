"""Packing by search: depth first over the orders in which buffers are put down, bottom up.

The method of MiniMalloc (Moffitt, ASPLOS 2024): every packing can be had by putting down buffers
by rising offsets, each as low as those before it allow. Time is cut into sections between which the
set of live buffers does not change. A section's floor is the lowest offset that any buffer to come
in it can have; a branch is given up where the floor and all that is to come reach above the
capacity. Where no buffer that is left crosses a border between sections, both sides are
independent.
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
    rank: _Ints  # the place in the order in which buffers are tried
    capacity: int
    nodes: int  # how many more buffers may be put down


_PATIENCE = 3
"""Steps for each buffer before another order is tried."""

LARGEST = 600
"""Buffers that are searched at most: each is a level of the search."""


class _GivenUp(Exception):
    """The search has taken as many steps as it may."""


def search(
    spans: Sequence[tuple[int, int, int]], capacity: int, nodes: int
) -> tuple[list[int] | None, int]:
    """Offsets of buffers (size, first place, last place) within `capacity`, and the steps left.

    None where there are none, where `nodes` steps do not find them, or where there are more than
    LARGEST buffers.
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
    # What is tried first: buffers of much area, of full sections, of long life, of much size; then
    # the same with keys that are off by up to a quarter, each until it has gone astray for a while.
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
    """Offsets of all buffers with those of `left` put down; None where there is no way.

    `low` holds the lowest offset that each of `left` can have, and the offset of the others. `load`
    is the bytes of `left` by section.
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
    # A buffer that could lie wholly below another one is put down before it.
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
    """`low` and `load` with buffer `one` at its lowest offset; None where `others` then do not
    fit."""
    at, begin, end = int(low[one]), int(p.begin[one]), int(p.end[one])
    rest = load.copy()
    rest[begin:end] -= p.size[one]
    if not others.size:
        return low, rest
    # Nothing comes below `at` any more.
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
    """Sets of buffers that have no section in common."""
    order = left[np.argsort(p.begin[left], kind="stable")]
    reach = np.maximum.accumulate(p.end[order])
    cuts = np.nonzero(p.begin[order][1:] >= reach[:-1])[0] + 1
    return np.split(order, cuts) if cuts.size else [order]
