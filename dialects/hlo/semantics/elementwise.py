"""Evaluate elementwise ops on arrays by HLO opcode: `apply("add", x, y)`.

Operands broadcast as in numpy, so one function serves tensors and, in reducers, batches of scalars.
Results have the element type of the operands, with two exceptions: compare returns pred, and real,
imag and abs of a complex array return its real type.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics import integer, special
from neuronir.dialects.hlo.semantics.numeric import (
    NARROW_FLOATS,
    Array,
    is_complex,
    is_integer,
    widen,
)


def _in_float(function: Callable[..., Any]) -> Callable[..., Array]:
    """Wrap `function` to compute narrow floats in f32 and round the result back."""

    def run(*operands: Array) -> Array:
        dtype = operands[0].dtype
        if dtype in NARROW_FLOATS:
            return np.asarray(function(*[x.astype(np.float32) for x in operands])).astype(dtype)
        return np.asarray(function(*operands))

    return run


def _by_kind(floating: Callable[..., Any], whole: Callable[..., Any]) -> Callable[..., Array]:
    """Use `whole` for integers and `floating` (widened) for other types."""
    wide = _in_float(floating)

    def run(*operands: Array) -> Array:
        if is_integer(operands[0].dtype):
            return np.asarray(whole(*operands))
        return wide(*operands)

    return run


def _real(x: Array) -> Array:
    return np.real(x) if is_complex(x.dtype) else x


def _imag(x: Array) -> Array:
    return np.imag(x) if is_complex(x.dtype) else np.zeros_like(x)


def _complex(real: Array, imag: Array) -> Array:
    result = np.empty(
        np.broadcast_shapes(np.shape(real), np.shape(imag)),
        np.complex128 if real.dtype == np.float64 else np.complex64,
    )
    result.real = real
    result.imag = imag
    return result


def _multiply(x: Array, y: Array) -> Array:
    """Multiply. The products of complex parts are rounded before they are added: numpy does not
    round them on processors with a fused multiply-add.
    """
    if not is_complex(x.dtype):
        return _in_float(np.multiply)(x, y)
    real = x.real * y.real - x.imag * y.imag
    return _complex(real, x.real * y.imag + x.imag * y.real)


def _is_finite(x: Array) -> Array:
    return np.asarray(np.isfinite(widen(x)))


def _not(x: Array) -> Array:
    return np.asarray(np.logical_not(x) if x.dtype == np.bool_ else np.invert(x))


def _select(predicate: Array, on_true: Array, on_false: Array) -> Array:
    return np.where(predicate, on_true, on_false)


def _clamp(low: Array, x: Array, high: Array) -> Array:
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _subtract(x: Array, y: Array) -> Array:
    return np.asarray(np.not_equal(x, y) if x.dtype == np.bool_ else np.subtract(x, y))


def _negate(x: Array) -> Array:
    return x if x.dtype == np.bool_ else np.asarray(np.negative(x))


def _copy(x: Array) -> Array:
    return x


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    # unary
    "abs": _in_float(np.abs),
    "acos": _in_float(np.arccos),
    "acosh": _in_float(np.arccosh),
    "asin": _in_float(np.arcsin),
    "asinh": _in_float(np.arcsinh),
    "atan": _in_float(np.arctan),
    "atanh": _in_float(np.arctanh),
    "cbrt": _in_float(np.cbrt),
    "ceil": _in_float(np.ceil),
    "copy": _copy,
    "cosh": _in_float(np.cosh),
    "cosine": _in_float(np.cos),
    "count_leading_zeros": integer.count_leading_zeros,
    "erf": _in_float(special.erf),
    "exponential": _in_float(np.exp),
    "exponential_minus_one": _in_float(np.expm1),
    "floor": _in_float(np.floor),
    "imag": _imag,
    "is_finite": _is_finite,
    "log": _in_float(np.log),
    "log_plus_one": _in_float(np.log1p),
    "logistic": _in_float(special.logistic),
    "negate": _in_float(_negate),
    "not": _not,
    "popcnt": integer.popcount,
    "real": _real,
    "round_nearest_afz": _in_float(special.round_half_away),
    "round_nearest_even": _in_float(np.rint),
    "rsqrt": _in_float(special.rsqrt),
    "sign": _in_float(special.sign),
    "sine": _in_float(np.sin),
    "sinh": _in_float(np.sinh),
    "sqrt": _in_float(np.sqrt),
    "tan": _in_float(np.tan),
    "tanh": _in_float(np.tanh),
    # binary
    "add": _in_float(np.add),
    "and": np.bitwise_and,
    "atan2": _in_float(special.atan2),
    "complex": _complex,
    "divide": _by_kind(np.divide, integer.divide),
    "maximum": _in_float(np.maximum),
    "minimum": _in_float(np.minimum),
    "multiply": _multiply,
    "or": np.bitwise_or,
    "power": _by_kind(np.power, integer.power),
    "remainder": _by_kind(np.fmod, integer.remainder),
    "shift_left": integer.shift_left,
    "shift_right_arithmetic": integer.shift_right_arithmetic,
    "shift_right_logical": integer.shift_right_logical,
    "subtract": _in_float(_subtract),
    "xor": np.bitwise_xor,
    # ternary
    "clamp": _in_float(_clamp),
    "select": _select,
}


def comparison(direction: str, order: str | None = None) -> Callable[[Array, Array], Array]:
    """Return the function of `compare` for this direction (EQ NE LT LE GT GE)."""
    return partial(special.compare, direction=direction, order=order)


def apply(opcode: str, *operands: Array) -> Array:
    """Apply an elementwise opcode (with underscores, as in `shift_left`) to arrays."""
    with np.errstate(all="ignore"):
        return np.asarray(ELEMENTWISE[opcode](*[np.asarray(x) for x in operands]))
