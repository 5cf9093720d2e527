"""Cycles of dependences of a loop: the shortest interval, and which instructions decide it."""

import pytest

from neuronir.passes.nc.cycles import critical, shortest_interval

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
