"""Compute functions that numpy lacks: erf, rounding away from zero, total order, complex forms."""

import math

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, is_complex, is_float, signed_of, widen

# Nodes of erf in single precision: erf is expanded around the nearest multiple of 1/64.
_STEP = 1.0 / 64.0
_LAST_NODE = 4 * 64
_NODES = np.arange(_LAST_NODE + 1, dtype=np.float64) * _STEP
_ERF_AT_NODES = np.array([math.erf(node) for node in _NODES])
_SLOPE_AT_NODES = 2.0 / math.sqrt(math.pi) * np.exp(-_NODES * _NODES)
_libm_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Array) -> Array:
    """Compute the error function; f64 as libm does, f32 to within one unit in the last place.

    With d the distance to the node c, |d| <= 1/128, the Taylor terms after the fourth are below
    2e-11, far below the rounding of f32; |x| >= 4 rounds to 1.
    """
    if x.dtype == np.float64:
        return np.asarray(_libm_erf(x)).astype(np.float64)
    magnitude = np.minimum(np.abs(x), np.float32(4.0)).astype(np.float64)
    index = np.rint(np.where(np.isnan(magnitude), 0.0, magnitude) / _STEP).astype(np.intp)
    c = _NODES[index]
    d = magnitude - c
    c2 = c * c
    # erf'' = -2c erf', erf''' = (4c^2 - 2) erf', erf'''' = (12c - 8c^3) erf'
    series = 1.0 + d * (-c + d * ((2.0 * c2 - 1.0) / 3.0 + d * (c * (3.0 - 2.0 * c2) / 6.0)))
    return np.copysign(_ERF_AT_NODES[index] + _SLOPE_AT_NODES[index] * d * series, x).astype(
        np.float32
    )


def round_half_away(x: Array) -> Array:
    """Round to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    up = np.abs(x - whole) >= 0.5
    return np.copysign(np.where(up, np.abs(whole) + np.ones((), x.dtype), np.abs(whole)), x)


def sign(x: Array) -> Array:
    """Return -1, 0 or 1; zeros and NaN are unchanged; a complex value is divided by its
    magnitude.
    """
    if is_complex(x.dtype):
        magnitude = np.abs(x)
        safe = np.where(magnitude == 0, np.ones((), magnitude.dtype), magnitude)
        unit = np.asarray(x / safe).astype(x.dtype)
        return np.where(magnitude == 0, np.zeros((), x.dtype), unit)
    if is_float(x.dtype):
        return np.where((x == 0) | np.isnan(x), x, np.copysign(np.ones((), x.dtype), x))
    return np.sign(x)


def rsqrt(x: Array) -> Array:
    """Compute 1 / sqrt(x)."""
    return np.asarray(np.ones((), x.dtype) / np.sqrt(x))


def logistic(x: Array) -> Array:
    """Compute 1 / (1 + exp(-x))."""
    one = np.ones((), x.dtype)
    return np.asarray(one / (one + np.exp(-x)))


def atan2(y: Array, x: Array) -> Array:
    """Return the angle of (x, y); for complex operands -i log((x + iy) / sqrt(x^2 + y^2))."""
    if is_complex(y.dtype):
        unit = (x + 1j * y) / np.sqrt(x * x + y * y)
        return np.asarray(-1j * np.log(unit)).astype(y.dtype)
    return np.arctan2(y, x)


def total_order_key(x: Array) -> Array:
    """Return signed integers in IEEE totalOrder of the floats: -NaN < -inf < -0 < 0 < inf < NaN."""
    if not is_float(x.dtype):
        return x
    bits = np.asarray(x).view(signed_of(x.dtype))
    return np.where(bits < 0, bits ^ np.array(np.iinfo(bits.dtype).max, bits.dtype), bits)


def compare(x: Array, y: Array, direction: str, order: str | None = None) -> Array:
    """Return pred of `x direction y`; `order` TOTALORDER compares floats by IEEE totalOrder."""
    if order == "TOTALORDER":
        x, y = total_order_key(x), total_order_key(y)
    else:
        x, y = widen(x), widen(y)
    return np.asarray(_DIRECTIONS[direction](x, y))


_DIRECTIONS: dict[str, np.ufunc] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
