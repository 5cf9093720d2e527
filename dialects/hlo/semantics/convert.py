"""Change element types: convert, bitcast-convert and reduce-precision."""

from typing import Any

import ml_dtypes
import numpy as np

from neuronir.dialects.hlo.semantics.numeric import (
    NARROW_FLOATS,
    Array,
    is_complex,
    is_float,
    is_integer,
    unsigned_of,
    widen,
)


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """Convert `x` to `dtype`.

    Float to integer rounds towards zero and saturates; NaN gives 0. Integer to integer wraps. A
    conversion to pred is `x != 0`. Complex to real drops the imaginary part. A conversion to a
    float type rounds to nearest even.
    """
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return np.asarray(widen(x) != 0)
    if is_complex(x.dtype) and not is_complex(dtype):
        return convert(np.real(x), dtype)
    if is_integer(dtype) and is_float(x.dtype):
        return _saturate(widen(x), dtype)
    if dtype in NARROW_FLOATS and not is_float(x.dtype):
        return x.astype(np.float32).astype(dtype)
    return widen(x).astype(dtype)


def _saturate(x: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    # The largest integer may not be representable as a float; the power of two above it is.
    above = x >= float(limits.max) + 1.0 if limits.bits > 24 else x > limits.max
    below = x < limits.min
    inside = np.where(above | below | np.isnan(x), np.zeros((), x.dtype), x).astype(dtype)
    top = np.array(limits.max, dtype)
    bottom = np.array(limits.min, dtype)
    return np.where(above, top, np.where(below, bottom, inside))


def bitcast_convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """Reinterpret the bits as `dtype`; another width adds or removes a last dimension (little
    endian).
    """
    old, new = x.dtype.itemsize, dtype.itemsize
    contiguous = np.ascontiguousarray(x).reshape(np.shape(x))
    if old == new:
        return contiguous.view(dtype)
    if old > new:
        return contiguous.reshape(*np.shape(x), 1).view(dtype)
    return contiguous.view(dtype).reshape(np.shape(x)[:-1])


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round `x` to a float of these widths (nearest even), and keep its element type.

    Overflow gives infinity, underflow a zero of the same sign (no subnormals); NaN is unchanged.
    """
    info = ml_dtypes.finfo(x.dtype)
    own_mantissa = int(info.nmant)
    own_exponent = x.dtype.itemsize * 8 - 1 - own_mantissa
    unsigned = unsigned_of(x.dtype)
    bits = np.asarray(x).view(unsigned)

    def word(value: int) -> Array:
        return np.array(value, unsigned)

    dropped = own_mantissa - mantissa_bits
    result = bits
    if dropped > 0:
        odd = (bits >> word(dropped)) & word(1)
        result = result + odd + word((1 << (dropped - 1)) - 1)
        result = result & ~word((1 << dropped) - 1)
    exponent_mask = word(((1 << own_exponent) - 1) << own_mantissa)
    sign = result & word(1 << (own_exponent + own_mantissa))
    if exponent_bits < own_exponent:
        bias = (1 << (own_exponent - 1)) - 1
        small_bias = (1 << (exponent_bits - 1)) - 1
        exponent = result & exponent_mask
        overflow = exponent > word((bias + small_bias) << own_mantissa)
        underflow = exponent <= word((bias - small_bias) << own_mantissa)
        result = np.where(overflow, sign | exponent_mask, np.where(underflow, sign, result))
    nan = np.isnan(widen(x))
    return np.asarray(np.where(nan, bits, result)).view(x.dtype)
