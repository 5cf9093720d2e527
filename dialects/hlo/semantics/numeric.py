"""Define the numpy element types, and the widening rule for narrow floats.

XLA's CPU backend computes bf16, f16 and the fp8 types in f32 and rounds each result to the declared
type; every function of this package does the same.
"""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
# The runtime value of an hlo value: an array, or a (nested) tuple of arrays.
Value: TypeAlias = "Array | tuple[Value, ...]"


_NARROW_NAMES = (
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
# Float types that are computed in f32.
NARROW_FLOATS: frozenset[np.dtype[Any]] = frozenset(
    [np.dtype(np.float16)]
    + [np.dtype(getattr(ml_dtypes, name)) for name in _NARROW_NAMES if hasattr(ml_dtypes, name)]
)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return whether the type is a real floating-point type of any width."""
    return dtype.kind == "f" or dtype in NARROW_FLOATS


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Return whether the type is c64 or c128."""
    return dtype.kind == "c"


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Return whether the type is a signed or unsigned integer (pred is not)."""
    return dtype.kind in "iu"


def widen(x: Array) -> Array:
    """Convert `x` to its arithmetic type: f32 for narrow floats, else its own type."""
    return x.astype(np.float32) if x.dtype in NARROW_FLOATS else x


def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which sums and products of `dtype` are accumulated."""
    return np.dtype(np.float32) if dtype in NARROW_FLOATS else dtype


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Round `x` to `dtype` (nearest even); no copy if it already has that type."""
    return x if x.dtype == dtype else x.astype(dtype)


def unsigned_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the unsigned integer type of the same width."""
    return np.dtype(f"u{dtype.itemsize}")


def signed_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the signed integer type of the same width."""
    return np.dtype(f"i{dtype.itemsize}")
