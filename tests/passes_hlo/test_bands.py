"""Sums of large weights in float64, band by band."""

import warnings

import numpy as np
import pytest

from neuronir.dialects.hlo.resources import Magnitudes
from neuronir.passes.hlo.center_norms import _means
from neuronir.passes.hlo.support.bands import row_sums, weighted_sum


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (700, 900), (2, 200_000)])
@pytest.mark.parametrize("turned", [False, True])
def test_sums(shape: tuple[int, int], turned: bool) -> None:
    """In either order of rows, of bands that do not fill, or of rows longer than a band; all
    numbers are seen."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=shape[::-1] if turned else shape).astype(np.float32)
    rows = rows.T if turned else rows
    vector = rng.normal(size=shape[0])
    seen = Magnitudes()
    found = weighted_sum(vector, rows, seen)
    np.testing.assert_allclose(found, vector @ rows.astype(np.float64), rtol=0, atol=1e-9)
    assert seen.found(rows) == (np.abs(rows).min() if rows.size else np.inf)
    sums = row_sums(np.ascontiguousarray(rows), Magnitudes())
    np.testing.assert_allclose(sums, rows.sum(axis=1, dtype=np.float64), rtol=0, atol=1e-9)


def test_means_of_infinities() -> None:
    """They are NaN, which the caller sees; numpy says nothing."""
    weights = np.ones((600, 600), np.float32)
    weights[3, 4:6] = np.inf, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means = _means(weights, 1)
    assert means.shape == (600, 1)
    assert np.isnan(means[3, 0]) and (np.delete(means, 3) == 1).all()
