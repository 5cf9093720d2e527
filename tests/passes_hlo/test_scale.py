"""Weights times a factor: the same numbers as numpy's, or None where that would lose something."""

import numpy as np
import pytest

from neuronir.passes.hlo.support.scale import scale_weights


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_all_pieces_are_scaled(axis: int) -> None:
    """Also where the weights are more than one piece."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(70, 30, 50)).astype(np.float32)
    factor = rng.normal(size=(weights.shape[axis],)).astype(np.float32)
    along = [1, 1, 1]
    along[axis] = factor.size
    found = scale_weights(weights, factor, axis)
    assert found is not None and found.flags.c_contiguous
    assert np.array_equal(found, weights * factor.reshape(along))


def test_transposed_weights() -> None:
    """Any order in memory."""
    weights = np.arange(1, 13, dtype=np.float32).reshape(3, 4).T
    found = scale_weights(weights, np.array([1, 2, 3, 4], np.float32), 0)
    assert found is not None and found.flags.c_contiguous
    assert np.array_equal(found, weights * np.array([[1], [2], [3], [4]], np.float32))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("number, factor", [(1e38, 10.0), (1e-30, 1e-9), (1e-30, 1e-30)])
def test_unusual_products(axis: int, number: float, factor: float) -> None:
    """Infinities, subnormal numbers, and zeros that neither factor is; in the last piece."""
    weights = np.ones((300, 300), np.float32)
    weights[-1, -1] = number
    assert scale_weights(weights, np.full(300, factor, np.float32), axis) is None


def test_nan() -> None:
    """A number that is none."""
    weights = np.array([[1.0, np.nan]], np.float32)
    assert scale_weights(weights, np.ones(2, np.float32), 1) is None


def test_zeros_stay() -> None:
    """Zero weights and zero factors give zeros."""
    weights = np.array([[0.0, 1.0], [2.0, 3.0]], np.float32)
    found = scale_weights(weights, np.array([1.0, 0.0], np.float32), 1)
    assert found is not None and found.tolist() == [[0.0, 0.0], [2.0, 0.0]]


def test_no_weights() -> None:
    """Nothing to scale."""
    found = scale_weights(np.zeros((3, 0), np.float32), np.ones(3, np.float32), 0)
    assert found is not None and found.shape == (3, 0)
