"""List the recognised one-argument functions, and how closely an expansion must match."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]


def _vector(function: Callable[[float], float]) -> Callable[[Float64], Float64]:
    return np.vectorize(function, otypes=[np.float64])


_ERF = _vector(math.erf)
_ERFC = _vector(math.erfc)


def _logistic(x: Float64) -> Float64:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def _softplus(x: Float64) -> Float64:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _gelu_tanh(x: Float64) -> Float64:
    u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    # 1 + tanh(u) = 2 * logistic(2u), without cancellation.
    return x * _logistic(np.clip(2.0 * u, -1e4, 1e4))


@dataclass(frozen=True)
class Function:
    """A function on the reals.

    An expansion in a type of relative precision eps is accepted if it differs from `exact` by at
    most eps * (relative * |f(x)| * (1 + x^2) + absolute * scale(x)). The argument of an exponential
    x^2 has an error of eps * x^2, and sums with a term of magnitude `scale` cancel.
    """

    kind: str
    exact: Callable[[Float64], Float64]
    scale: Callable[[Float64], Float64]
    relative: float = 8.0
    absolute: float = 4.0


def _one(x: Float64) -> Float64:
    return np.ones_like(x)


FUNCTIONS: tuple[Function, ...] = (
    Function("gelu_exact", lambda x: 0.5 * x * _ERFC(-x / math.sqrt(2.0)), np.abs),
    Function("gelu_tanh", _gelu_tanh, np.abs),
    Function("silu", lambda x: x * _logistic(x), lambda x: np.abs(x) * 1e-3),
    Function("erf", _ERF, lambda x: np.minimum(np.abs(x), 1.0)),
    Function("erfc", _ERFC, _one),
    Function("logistic", _logistic, _one),
    Function("gelu_sigmoid", lambda x: x * _logistic(1.702 * x), np.abs),
    Function("mish", lambda x: x * np.tanh(_softplus(x)), np.abs),
    Function("softplus", _softplus, _one),
)
"""In the order in which they are tried; gelu_tanh comes first if the subgraph has a tanh."""


def sample_points() -> Float64:
    """Return points of comparison: a grid over the bend of each function, and both tails, where an
    expansion may overflow: exp(x) / (1 + exp(x)) is NaN from 89.
    """
    grid = np.linspace(-6.0, 6.0, 193)
    near = np.geomspace(1e-6, 0.05, 12)
    far = np.array([6.5, 7.25, 8.0, 9.5, 11.0, 13.0, 20.0, 50.0, 100.0, 1e4])
    return np.unique(np.concatenate([grid, near, -near, far, -far]))


def agrees(function: Function, x: Float64, y: Float64, eps: float, tiny: float) -> bool:
    """Return whether y at x matches the function up to rounding."""
    exact = function.exact(x)
    # Below the normal range a machine may flush to zero.
    return bool(np.all(np.abs(y - exact) <= _rounding(function, x, exact, eps) + tiny))


def agrees_unrounded(function: Function, x: Float64, y: Float64, eps: float) -> bool:
    """Return whether y, evaluated at x in f32, matches the function up to the rounding of its
    constants in a type of relative precision eps.

    A constant scales the argument or the result. Where results are rounded to bf16 at each step,
    log(1 + log(1 + exp(x))) is as near to logistic(x) as an expansion of logistic is.
    """
    exact = function.exact(x)
    sides = [np.abs(function.exact(x * (1.0 + side)) - exact) for side in (eps / 2, -eps / 2)]
    info = np.finfo(np.float32)
    bound = np.maximum(*sides) + eps / 2 * np.abs(exact)
    bound += _rounding(function, x, exact, float(info.eps)) + float(info.tiny)
    return bool(np.all(np.abs(y - exact) <= bound))


def _rounding(function: Function, x: Float64, exact: Float64, eps: float) -> Float64:
    """Return the most by which an expansion evaluated in a type of precision eps may differ."""
    bound = function.relative * np.abs(exact) * (1.0 + x * x)
    return eps * (bound + function.absolute * function.scale(x))
