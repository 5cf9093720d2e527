"""reduce_precision of every 16-bit float, subnormals and NaN included, as XLA does it."""

import ml_dtypes
import numpy as np
import pytest

from tests.lowering.helpers import entry, run
from tests.oracle import run_xla

TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 9), (8, 3), (4, 9)])
@pytest.mark.parametrize("dtype", TYPES)
def test_every_number(dtype: str, exponent: int, mantissa: int) -> None:
    numbers = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(TYPES[dtype])
    text = entry(
        f"x = {dtype}[65536] parameter(0)",
        f"r = {dtype}[65536] reduce-precision(x), exponent_bits={exponent}, "
        f"mantissa_bits={mantissa}",
    )
    (mine,), (theirs,) = run(text, [numbers]), run_xla(text, [numbers])
    nan = np.isnan(numbers.astype(np.float32))
    assert np.isnan(mine[nan].astype(np.float32)).all()
    np.testing.assert_array_equal(mine[~nan].view(np.uint16), theirs[~nan].view(np.uint16))
