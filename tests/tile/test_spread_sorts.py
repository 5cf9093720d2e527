"""Sorts of rows in parts on several partitions: ties, zeros of both signs, NaN and infinities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.passes.hlo.decompositions.spread_sorts import (
    LONGEST_OF_PAIRS,
    width_of_pairs,
    width_of_words,
)
from tests.differential.test_found import results


def _floats(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Few different values, so that many are equal."""
    rng = np.random.default_rng(0)
    some = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -2.0, 3e38, 1e-30]
    values = np.array(some, np.float32)[rng.integers(0, len(some), shape)]
    return np.where(rng.random(shape) < 0.5, rng.standard_normal(shape), values).astype(np.float32)


@pytest.mark.parametrize("shape", [(3, 300), (1, 4097), (130, 520)])
def test_rows_of_words(shape: tuple[int, ...]) -> None:
    rows, n = shape
    assert width_of_words(rows, n) > n  # in parts
    x = _floats(shape)
    text = jax.jit(lambda v: jnp.sort(v, -1)).lower(x).as_text("hlo")
    (mine,) = results(text, [x], tiling="always")
    want = np.asarray(jax.jit(lambda v: jnp.sort(v, -1))(x))
    np.testing.assert_array_equal(mine, want)
    zeros = want == 0  # stable: zeros of both signs in their order
    np.testing.assert_array_equal(np.signbit(mine[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize("shape", [(2, 500), (5, 257)])
@pytest.mark.parametrize("descending", [False, True])
def test_positions(shape: tuple[int, ...], descending: bool) -> None:
    rows, n = shape
    assert width_of_pairs(rows, n, 0) > n
    x = _floats(shape)
    sort = jax.jit(lambda v: jnp.argsort(v, -1, descending=descending, stable=True))
    with jax.enable_x64(False):
        text, want = sort.lower(x).as_text("hlo"), np.asarray(sort(x))
    (mine,) = results(text, [x], tiling="always")
    np.testing.assert_array_equal(mine, want)


@pytest.mark.parametrize("tiling", ["always", "never"])
def test_carried_rows(tiling: str) -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(-9, 9, (2, 300)).astype(np.int32)
    places = np.arange(600, dtype=np.int32).reshape(2, 300)
    held = [rng.standard_normal((2, 300)).astype(np.float32), places]
    assert width_of_pairs(2, 300, 2) == 512
    sort = jax.jit(lambda k, a, b: jax.lax.sort((k, a, b), num_keys=1))
    text = sort.lower(keys, *held).as_text("hlo")
    mine = results(text, [keys, *held], tiling=tiling)
    for found, want in zip(mine, sort(keys, *held), strict=True):
        np.testing.assert_array_equal(found, np.asarray(want))


@pytest.mark.slow
def test_the_longest_row_of_pairs() -> None:
    """All 2^16 positions, of keys with the largest and smallest bits."""
    keys = np.random.default_rng(0).integers(-(2**31), 2**31, LONGEST_OF_PAIRS).astype(np.int32)
    keys[:9] = [2**31 - 1, -(2**31), 2**31 - 1, 0, -1, 0, -1, 1, -(2**31)]
    with jax.enable_x64(False):
        text = jax.jit(lambda v: jnp.argsort(v, stable=True)).lower(keys).as_text("hlo")
    (mine,) = results(text, [keys])
    np.testing.assert_array_equal(mine, np.argsort(keys, kind="stable"))
