"""Which steps of a precision ladder must be more accurate than others, and the test of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt

import ml_dtypes
import numpy as np

from neuronir.accuracy import Step
from neuronir.dialects.support.compare import UNIT_ROUNDOFF
from neuronir.dialects.support.npz import Array
from neuronir.driver.precision import ladder as rungs_of
from neuronir.targets.registry import get_target

NOISE = 1 + UNIT_ROUNDOFF["fp16"] / UNIT_ROUNDOFF["bf16"]
"""Roundings are random. A step of which the second precision has fewer roundings in fp16, beside
the same ones in bf16, changes each result by about the first of these types' share of the error,
in either direction."""

PAIRS = {
    "inf1": [(0, 1), (1, 2), (2, 3)],
    # by type, of all and of matmult; and all beside matmult in each type
    "trn1": [(0, 2), (2, 4), (1, 3), (3, 5), (5, 6), (0, 1), (2, 3), (4, 5)],
}
"""Steps of a target's ladder by number, of which the second is the more accurate."""

DRAWS = 8
STUDENT = 3.5
"""The quantile of 0.995 of Student's t with DRAWS - 1 degrees of freedom."""


def check_ladder(steps: list[Step], target: str) -> None:
    """Each step compiles, and none is less accurate than the ones that cast more or narrower."""
    check_steps(steps, target)
    assert not [(steps[i], steps[j]) for i, j in PAIRS[target] if excess(steps, i, j) > 0]


def check_ladder_of(
    measure: Callable[[Sequence[Array]], list[Step]], arguments: Sequence[Array], target: str
) -> None:
    """Check the ladder that `measure` returns for a model's arguments.

    A model with few results sees few roundings. If a step is worse for these arguments, the mean
    over other draws of the roundings decides, by a one-sided t-test of 0.5 %.
    """
    steps = measure(arguments)
    check_steps(steps, target)
    worse = [(i, j) for i, j in PAIRS[target] if excess(steps, i, j) > 0]
    if not worse:
        return
    drawn = [measure(moved(arguments, seed)) for seed in range(DRAWS)]
    for i, j in worse:
        by_draw = [excess(each, i, j) for each in drawn]
        deviation = float(np.std(by_draw, ddof=1)) / sqrt(DRAWS)
        assert float(np.mean(by_draw)) <= STUDENT * deviation, (steps[i], steps[j], by_draw)


def check_steps(steps: list[Step], target: str) -> None:
    """All precisions of the target compile, and equal ones give equal results."""
    rungs = rungs_of(get_target(target).machine)
    assert [s.options for s in steps] == [r.options for r in rungs]
    assert [s.refused for s in steps] == [None] * len(steps)
    for i, j in PAIRS[target]:
        if rungs[i].precision == rungs[j].precision:  # one precision by two names
            assert replace(steps[j], options="") == replace(steps[i], options="")
    assert all(s.time_us > 0 and s.max_error >= s.mean_error >= 0 for s in steps)


def excess(steps: Sequence[Step], i: int, j: int) -> float:
    """By how much the mean error of step `j`, the better one, exceeds that of step `i`."""
    return steps[j].mean_error - NOISE * steps[i].mean_error - 1e-7


def moved(arguments: Sequence[Array], seed: int) -> list[Array]:
    """Arguments of the same distribution, of which each value rounds in another way."""
    rng = np.random.default_rng(seed)

    def each(array: Array) -> Array:
        if array.dtype.kind != "f" and array.dtype != ml_dtypes.bfloat16:
            return array
        factor = 1 + 2.0**-6 * rng.standard_normal(array.shape)
        return np.asarray(array * factor).astype(array.dtype)

    return [each(array) for array in arguments]
