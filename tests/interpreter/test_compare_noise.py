"""Comparing by the statistics of the noise: what noise explains passes, a little more does not."""

import numpy as np
import pytest

from neuronir.dialects.support.compare_noise import compare_with_noise, noise_factor
from neuronir.dialects.support.npz import Array

SHAPE = (64, 256)
NOISE = 3e-3


def _runs(scale: float, count: int = 4, seed: int = 1) -> list[list[Array]]:
    rng = np.random.default_rng(seed)
    return [
        [(_exact() + scale * rng.standard_normal(SHAPE)).astype(np.float32)] for _ in range(count)
    ]


def _exact() -> Array:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def _off(scale: float) -> Array:
    rng = np.random.default_rng(2)
    return (_exact() + scale * rng.standard_normal(SHAPE)).astype(np.float32)


@pytest.mark.parametrize(("times", "ok"), [(0.0, True), (1.0, True), (1.8, True), (3.0, False)])
def test_the_norm_is_judged(times: float, ok: bool) -> None:
    # Perturbed runs differ from the result, the result from the reference.
    result = _exact()
    reference = {"out0": _off(times * NOISE)}
    (output,) = compare_with_noise([result], reference, _runs(NOISE)).outputs
    assert output.ok is ok
    assert output.noise_rel == pytest.approx(NOISE, rel=0.05)
    assert output.norm_allowed == pytest.approx(2.0 * NOISE, rel=0.1)


def test_one_element_is_judged() -> None:
    reference = _off(NOISE)
    reference[3, 5] += 40 * NOISE
    (output,) = compare_with_noise([_exact()], {"out0": reference}, _runs(NOISE)).outputs
    assert not output.ok and output.mismatch == (3, 5)


def test_many_small_errors_are_judged_beside_few_large_ones() -> None:
    """A tenth of the elements has all of the noise; the others are off although they are exact."""
    runs = _runs(0.0)
    for (run,) in runs:
        run[:8] += 0.3 * np.random.default_rng(run[0, 0].tobytes()[0]).standard_normal((8, 256))
    reference = _exact()
    reference[8:] += np.float32(0.05)
    (output,) = compare_with_noise([_exact()], {"out0": reference}, runs).outputs
    assert not output.ok and "of the errors are over" in output.reason


def test_without_noise_only_fp32_arithmetic_is_allowed() -> None:
    (near,) = compare_with_noise([_exact()], {"out0": _off(1e-5)}, []).outputs
    (far,) = compare_with_noise([_exact()], {"out0": _off(1e-3)}, []).outputs
    assert near.ok and near.noise_rel is None and not far.ok


def test_small_outputs_are_given_the_spread_of_few_samples() -> None:
    assert noise_factor(1) > 7.0 and noise_factor(10**6) < 2.01
    exact = np.array([1.0], np.float32)
    runs = [[np.array([1.0 + e], np.float32)] for e in (1e-3, -1e-3, 5e-4, -5e-4)]
    assert compare_with_noise([exact], {"out0": exact + np.float32(4e-3)}, runs).ok
    assert not compare_with_noise([exact], {"out0": exact + np.float32(2e-2)}, runs).ok


def test_integers_and_nan_must_match() -> None:
    whole = np.arange(4, dtype=np.int32)
    assert compare_with_noise([whole], {"out0": whole}, []).ok
    assert not compare_with_noise([whole], {"out0": whole + 1}, [[whole + 1]]).ok
    values = np.array([1.0, np.nan], np.float32)
    assert compare_with_noise([values], {"out0": values}, [[values]]).ok
    assert not compare_with_noise([values], {"out0": values[::-1]}, [[values]]).ok
    assert not compare_with_noise([values], {"out0": values, "out1": values}, [[values]]).ok


def test_a_head_is_compared_with_the_first_elements() -> None:
    exact = _exact()
    stat = np.array([exact.mean(), exact.std(), np.abs(exact).max()], np.float64)
    reference: dict[str, Array] = {"head0": _off(NOISE).reshape(-1)[:512], "stat0": stat}
    assert compare_with_noise([exact], reference, _runs(NOISE)).ok
    assert not compare_with_noise([exact], reference, _runs(NOISE / 4)).ok


def test_a_perturbed_run_that_ends_in_nan_says_nothing() -> None:
    runs = _runs(NOISE)
    runs[0][0][0, 0] = np.nan
    assert compare_with_noise([_exact()], {"out0": _off(NOISE)}, runs).ok
    assert not compare_with_noise([_exact()], {"out0": _off(5 * NOISE)}, runs).ok


@pytest.mark.parametrize(("times", "ok"), [(1.0, True), (4.0, False)])
def test_one_rounding_of_each_element_is_judged(times: float, ok: bool) -> None:
    """A perturbed run moves one element in twelve, so that most changes are 0."""
    rng = np.random.default_rng(3)
    step = np.float32(2**-8)
    off = rng.uniform(-0.5, 0.5, SHAPE).astype(np.float32)
    runs = []
    for _ in range(4):
        moved = rng.random(SHAPE) < np.abs(off) / 3
        runs.append([(_exact() + step * np.sign(off) * moved).astype(np.float32)])
    reference = _exact() + np.float32(times) * step * off
    (output,) = compare_with_noise([_exact()], {"out0": reference}, runs).outputs
    assert output.ok is ok
    reference = _exact() + np.float32(times) * step / 4  # the norm explains this, or not
    (output,) = compare_with_noise([_exact()], {"out0": reference}, runs).outputs
    assert output.ok is ok
