"""Cycles of dependences of a loop: the interval that they allow, and the instructions on them."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

Delay = tuple[int, int, float, int]
"""(before, after, delay in ns, distance in iterations)."""

_PRECISION = 0.001
"""The relative precision of the shortest interval."""
_SLACK = 0.05
"""The fraction of an interval by which a cycle may be shorter for its instructions to be placed
first.
"""
_TINY = 1e-6


def shortest_interval(count: int, delays: Sequence[Delay]) -> float:
    """Return the shortest interval (ns) that the dependences of `count` instructions allow, rounded
    up by less than a thousandth.

    It is the largest quotient, over all cycles, of the sum of the delays and the distance.
    """
    low = max((d / n for a, b, d, n in delays if a == b and n), default=0.0)
    ordered = sorted(delays)
    exact = low
    while cycle := _growing(count, ordered, exact):
        distance = sum(n for _, _, _, n in cycle)
        quotient = sum(d for _, _, d, _ in cycle) / distance if distance else inf
        if quotient <= exact:
            break
        exact = quotient
    if exact == low:
        return low
    high = low + sum(d for _, _, d, _ in delays)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if middle < exact:
            low = middle
        else:
            high = middle
    return high


def _growing(count: int, delays: Sequence[Delay], interval: float) -> list[Delay]:
    """Return a cycle that takes longer than `interval` ns for each iteration of its distance; empty
    if there is none.

    The longest chains to each instruction are found by relaxation, with the last dependence of
    each. As soon as these dependences close a cycle, chains grow along it without end.
    """
    longest = [0.0] * count
    last = [-1] * count  # the number of the dependence, of the chain to each instruction
    weighted = [(a, b, d - n * interval) for a, b, d, n in delays]
    for _ in range(count + 1):
        changed = False
        for i, (a, b, d) in enumerate(weighted):
            if longest[a] + d > longest[b] + _TINY:
                longest[b] = longest[a] + d
                last[b] = i
                changed = True
        if not changed:
            return []
        closed = _closed(last, weighted)
        if closed:
            return [delays[i] for i in closed]
    return []


def _closed(last: Sequence[int], weighted: Sequence[tuple[int, int, float]]) -> list[int]:
    """Return the dependences of a cycle of the last ones of chains; empty if there is none."""
    seen = [-1] * len(last)
    for start in range(len(last)):
        node = start
        while seen[node] < 0 and last[node] >= 0:
            seen[node] = start
            node = weighted[last[node]][0]
        if seen[node] == start and last[node] >= 0:
            cycle, first = [last[node]], node
            node = weighted[last[node]][0]
            while node != first:
                cycle.append(last[node])
                node = weighted[last[node]][0]
            return cycle
    return []


def critical(count: int, delays: Sequence[Delay], interval: float) -> list[bool]:
    """Return which instructions are on a cycle that takes nearly all of `interval` per
    iteration.
    """
    longest: NDArray[np.float64] = np.full((count, count), -np.inf)
    for a, b, d, n in delays:
        longest[a, b] = max(longest[a, b], d - n * interval)
    for k in range(count):
        np.maximum(longest, longest[:, k, None] + longest[None, k, :], out=longest)
    return [bool(own >= -_SLACK * interval) for own in np.diagonal(longest)]
