"""Sorts on tiles whose operands have their rows in other pieces than the result."""

import jax
import numpy as np
import pytest

from tests.differential.test_found import results


@pytest.mark.parametrize("shape", [(129, 2, 3), (6, 5, 4), (130, 3)])
def test_carried_rows_along_an_outer_dimension(shape: tuple[int, ...]) -> None:
    """Rows of [129, 3, 2] are one digit in the result, and two in what was transposed for it."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**16, shape).astype(np.uint16)
    held = rng.integers(-9, 9, shape).astype(np.int32)
    sort = jax.jit(lambda k, h: jax.lax.sort((k, h), dimension=1, num_keys=1)[1])
    text = sort.lower(keys, held).as_text("hlo")
    (mine,) = results(text, [keys, held], tiling="always")
    want = np.take_along_axis(held, np.argsort(keys, 1, kind="stable"), 1)
    np.testing.assert_array_equal(mine, want)
