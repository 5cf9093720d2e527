"""Cycles of dependences of a loop: the shortest interval, and which instructions decide it."""

from collections.abc import Iterator

import numpy as np
import pytest

from neuronir.passes.nc.cycles import Delay, critical, shortest_interval

CHAIN = [(0, 1, 100.0, 0), (1, 2, 50.0, 0), (2, 0, 30.0, 1), (1, 3, 200.0, 0), (3, 3, 40.0, 1)]
"""0 -> 1 -> 2 -> 0 of the next iteration; 3 follows 1, and itself."""


def test_the_interval_is_that_of_the_longest_cycle() -> None:
    """All delays of the cycle, since it comes back one iteration on."""
    assert shortest_interval(4, CHAIN) == pytest.approx(180.0, rel=0.01)


def test_a_cycle_over_two_iterations_counts_half() -> None:
    """The same delays, in two intervals."""
    far = [(a, b, d, 2 * n) for a, b, d, n in CHAIN]
    assert shortest_interval(4, far) == pytest.approx(90.0, rel=0.01)


def test_no_carried_dependence_allows_any_interval() -> None:
    """Nothing comes back."""
    assert shortest_interval(4, [e for e in CHAIN if not e[3]]) == 0.0


def test_instructions_of_the_longest_cycle_are_critical() -> None:
    """What hangs on the cycle, with a longer chain behind it, is not on it."""
    assert critical(4, CHAIN, shortest_interval(4, CHAIN)) == [True, True, True, False]


def cycles(delays: list[Delay], chain: list[Delay]) -> Iterator[list[Delay]]:
    """All simple cycles that begin with a chain of dependences."""
    first, last = chain[0][0], chain[-1][1]
    if first == last:
        yield chain
        return
    inside = {a for a, _, _, _ in chain}
    for one in delays:
        if one[0] == last and (one[1] == first or one[1] not in inside):
            yield from cycles(delays, [*chain, one])


def drawn(seed: int) -> tuple[int, list[Delay]]:
    """A few instructions with dependences: those on later ones are on earlier iterations."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    delays = []
    for _ in range(rng.integers(0, 10)):
        a, b = (int(n) for n in rng.integers(0, count, 2))
        least = 0 if a < b else 1
        delay = float(rng.choice([0.0, 64.0, 128.0, rng.uniform(0, 500)]))
        delays.append((a, b, delay, int(rng.integers(least, 3))))
    return count, delays


@pytest.mark.parametrize("seed", range(100))
def test_the_slowest_cycle(seed: int) -> None:
    count, delays = drawn(seed)
    found = [c for one in delays for c in cycles(delays, [one])]
    slowest = max((sum(d[2] for d in c) / sum(d[3] for d in c) for c in found), default=0.0)
    interval = shortest_interval(count, delays)
    assert slowest * (1 - 1e-9) <= interval <= slowest * 1.002


def test_dependences_in_a_circle_within_an_iteration_allow_none() -> None:
    """They cannot be met: the interval is as long as everything together."""
    delays = [(0, 1, 10.0, 0), (1, 0, 20.0, 0)]
    assert shortest_interval(2, delays) == pytest.approx(30.0, rel=2e-3)


def test_long_chains_are_followed_once() -> None:
    """One cycle through all instructions, and shorter ones in it."""
    count = 300
    delays = [(i, i + 1, 1.0, 0) for i in range(count - 1)]
    delays += [(count - 1, 0, 1.0, 1), *((i + 1, i, 0.5, 1) for i in range(count - 1))]
    assert shortest_interval(count, delays) == pytest.approx(300.0, rel=2e-3)
