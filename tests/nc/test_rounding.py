"""Perturbed roundings: as large as the roundings themselves, and none where a value is exact."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.semantics.convert import converted
from neuronir.dialects.nc.semantics.rounding import Perturbation, perturbing

NARROW = [
    DType.BF16,
    DType.F16,
    DType.TF32,
    DType.F8E3M4,
    DType.F8E4M3,
    DType.F8E5M2,
]
SPECIAL = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 3.39e38, -3.4e38, 1e-45, -1e-40, 65504, 65520, 448, 1e5],
    np.float32,
)


def _values() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(0).standard_normal((400, 1000)).astype(np.float32)


@pytest.mark.parametrize("dtype", NARROW)
def test_changes_are_as_large_as_the_errors(dtype: DType) -> None:
    values = _values()
    nearest = converted(values, dtype)
    changed = Perturbation(1, full=False).rounded(values, nearest, dtype)
    wide, moved = nearest.astype(np.float64), changed.astype(np.float64)
    error = float(np.sqrt(np.mean((wide - values) ** 2)))
    change = float(np.sqrt(np.mean((moved - wide) ** 2)))
    assert change == pytest.approx(error, rel=0.03)
    # A move goes to the neighbour on the other side of the exact value, never away from it.
    assert np.all((moved == wide) | ((moved - values) * (wide - values) <= 0))


@pytest.mark.parametrize("dtype", NARROW)
def test_exact_and_special_values_stay(dtype: DType) -> None:
    with np.errstate(all="ignore"):
        exact = converted(_values(), dtype).astype(np.float32)
        for seed in range(20):
            random = Perturbation(seed, full=False)
            same = random.rounded(exact, converted(exact, dtype), dtype)
            assert np.array_equal(same.astype(np.float32), exact)
            nearest = converted(SPECIAL, dtype)
            found = random.rounded(SPECIAL, nearest, dtype)
            left, right = found.astype(np.float32), nearest.astype(np.float32)
            assert np.array_equal(np.isfinite(left), np.isfinite(right))
            assert np.array_equal(left[~np.isfinite(left)], right[~np.isfinite(right)], True)


def test_ties_move_as_often_to_either_side() -> None:
    step = np.float32(2.0**-8)
    ties = (1 + step * np.arange(1, 1 << 7, 2, dtype=np.float32)).repeat(2000)
    nearest = converted(ties, DType.BF16)
    changed = Perturbation(0, full=False).rounded(ties, nearest, DType.BF16)
    moved = (changed != nearest).reshape(-1, 2000).mean(axis=1)
    assert np.abs(moved - 1 / 6).max() < 0.05


def test_constants_move_by_a_step_and_identities_stay() -> None:
    random = Perturbation(0, full=False)
    weights = _values().astype(ml_dtypes.bfloat16)
    wide = weights.astype(np.float64)
    change = random.constant(weights, DType.BF16).astype(np.float64) - wide
    error = float(np.sqrt(np.mean((_values() - wide) ** 2)))
    assert float(np.sqrt(np.mean(change**2))) == pytest.approx(error, rel=0.03)
    kept = np.concatenate([np.eye(8), np.full((8, 8), 1 / 64), -np.ones((8, 8)) * 1e9])
    kept = kept.astype(ml_dtypes.bfloat16)
    assert np.array_equal(random.constant(kept, DType.BF16), kept)


def test_full_precision_is_perturbed_on_demand_only() -> None:
    values = _values()
    with perturbing(Perturbation(0, full=False)):
        assert np.array_equal(converted(values, DType.F32), values)
    with perturbing(Perturbation(0, full=True)):
        changed = converted(values, DType.F32)
        whole = np.rint(values * 100)
        assert np.array_equal(converted(whole, DType.F32), whole)
    assert np.mean(changed != values) == pytest.approx(1 / 3, abs=0.01)
    assert np.abs(changed / values.astype(np.float64) - 1).max() <= 2.0**-23
    assert np.array_equal(converted(values, DType.F32), values)
