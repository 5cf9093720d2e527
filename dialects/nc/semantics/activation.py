"""Compute the functions of the scalar engine, exact in fp32, and check documented input ranges."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Activation
from neuronir.dialects.nc.semantics.alu import rsqrt
from neuronir.dialects.nc.semantics.erf import erf, erfc

F32 = NDArray[Any]
"""A tile of float32."""
Function = Callable[[F32], F32]

RANGES: dict[Activation, tuple[float, float]] = {
    Activation.LOG: (2.0**-64, 2.0**64),
    Activation.SIN: (-float(np.float32(np.pi)), float(np.float32(np.pi))),
    Activation.ARCTAN: (-float(np.float32(np.pi / 2)), float(np.float32(np.pi / 2))),
    Activation.SQRT: (2.0**-116, 2.0**118),
    Activation.RSQRT: (2.0**-87, 2.0**97),
    Activation.RECIPROCAL: (2.0**-42, 2.0**42),  # of the magnitude
}
"""Lowest and highest argument (docs/hardware.md section 3.3); other functions take all reals."""


def outside(func: Activation, x: F32) -> int:
    """Count the arguments outside the documented range of `func`."""
    bounds = RANGES.get(func)
    if bounds is None:
        return 0
    values = np.abs(x) if func == Activation.RECIPROCAL else x
    inside = (values >= np.float32(bounds[0])) & (values <= np.float32(bounds[1]))
    return int(values.size - np.count_nonzero(inside))


def _sigmoid(x: F32) -> F32:
    e = np.exp(-np.abs(x))
    one = np.float32(1)
    return np.where(x >= 0, one, e) / (one + e)


def _softplus(x: F32) -> F32:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, np.float32(0))


def _gelu(x: F32) -> F32:
    wide = x.astype(np.float64)
    return (0.5 * wide * erfc(wide * -np.sqrt(0.5))).astype(np.float32)


def _gelu_tanh(x: F32) -> F32:
    wide = x.astype(np.float64)
    inner = np.sqrt(2.0 / np.pi) * (wide + 0.044715 * wide * wide * wide)
    return np.asarray((0.5 * wide * (1.0 + np.tanh(inner))).astype(np.float32))


FUNCTIONS: dict[Activation, Function] = {
    Activation.COPY: lambda x: x,
    Activation.SQUARE: np.square,
    Activation.SIGMOID: _sigmoid,
    Activation.RELU: lambda x: np.maximum(x, np.float32(0)),
    Activation.GELU: _gelu,
    Activation.GELU_TANH: _gelu_tanh,
    Activation.SILU: lambda x: x * _sigmoid(x),
    Activation.TANH: np.tanh,
    Activation.SOFTPLUS: _softplus,
    Activation.MISH: lambda x: x * np.tanh(_softplus(x)),
    Activation.ERF: lambda x: erf(x).astype(np.float32),
    Activation.EXP: np.exp,
    Activation.LOG: np.log,
    Activation.SIN: np.sin,
    Activation.ARCTAN: np.arctan,
    Activation.SQRT: np.sqrt,
    Activation.RSQRT: rsqrt,
    Activation.RECIPROCAL: np.reciprocal,
    Activation.SIGN: np.sign,
    Activation.ABS: np.abs,
}
