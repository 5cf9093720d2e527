"""Row-major copies."""

import numpy as np
import pytest

from neuronir.dialects.support.contiguous import contiguous


@pytest.mark.parametrize(
    "shape", [(), (5,), (3, 4), (300, 129), (1, 70_000), (70_000, 1), (8, 64, 65)]
)
def test_the_same_in_rows(shape: tuple[int, ...]) -> None:
    """Bytes are those of numpy's own copy; what is in rows already is not copied."""
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    made = contiguous(array.T)
    assert made.flags.c_contiguous and made.shape == array.T.shape
    np.testing.assert_array_equal(made, array.T)
    assert np.shares_memory(contiguous(array), array) or not array.shape
