"""Cycles of dependences of a loop: the interval that they allow, and the instructions on them."""

from collections.abc import Sequence

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
    """Return the shortest interval (ns) that the dependences of `count` instructions allow.

    It is the largest quotient, over all cycles, of the sum of the delays and the distance.
    """
    low = max((d / n for a, b, d, n in delays if a == b and n), default=0.0)
    if not _grows(count, delays, low):
        return low
    high = low + sum(d for _, _, d, _ in delays)
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        if _grows(count, delays, middle):
            low = middle
        else:
            high = middle
    return high


def _grows(count: int, delays: Sequence[Delay], interval: float) -> bool:
    """Return whether chains get longer and longer across iterations that begin every `interval`
    ns.
    """
    longest = [0.0] * count
    weighted = [(a, b, d - n * interval) for a, b, d, n in sorted(delays)]
    for _ in range(count + 1):
        changed = False
        for a, b, d in weighted:
            if longest[a] + d > longest[b] + _TINY:
                longest[b] = longest[a] + d
                changed = True
        if not changed:
            return False
    return True


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
