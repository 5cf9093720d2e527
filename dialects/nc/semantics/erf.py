"""Compute the error function in fp64 with the rational approximations of W. J. Cody (1969)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

_A = (
    1.85777706184603153e-1,
    3.16112374387056560e00,
    1.13864154151050156e02,
    3.77485237685302021e02,
    3.20937758913846947e03,
)
_B = (
    1.0,
    2.36012909523441209e01,
    2.44024637934444173e02,
    1.28261652607737228e03,
    2.84423683343917062e03,
)
_C = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e00,
    6.61191906371416295e01,
    2.98635138197400131e02,
    8.81952221241769090e02,
    1.71204761263407058e03,
    2.05107837782607147e03,
    1.23033935479799725e03,
)
_D = (
    1.0,
    1.57449261107098347e01,
    1.17693950891312499e02,
    5.37181101862009858e02,
    1.62138957456669019e03,
    3.29079923573345963e03,
    4.36261909014324716e03,
    3.43936767414372164e03,
    1.23033935480374942e03,
)
_P = (
    1.63153871373020978e-2,
    3.05326634961232344e-1,
    3.60344899949804439e-1,
    1.25781726111229246e-1,
    1.60837851487422766e-2,
    6.58749161529837803e-4,
)
_Q = (
    1.0,
    2.56852019228982242e00,
    1.87295284992346725e00,
    5.27905102951428412e-1,
    6.05183413124413191e-2,
    2.33520497626869185e-3,
)
_ONE_OVER_SQRT_PI = 5.6418958354775628695e-1


def _horner(coefficients: tuple[float, ...], x: F64) -> F64:
    value = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        value *= x
        value += c
    return value


def erf(x: NDArray[Any]) -> F64:
    """Compute erf of each element."""
    values = np.asarray(x, np.float64)
    small = np.abs(values) <= 0.46875
    if small.all():
        return _near(values)
    out = np.copysign(1.0 - _far(np.abs(values)), values)
    out[small] = _near(values[small])
    return out


def erfc(x: NDArray[Any]) -> F64:
    """Compute 1 - erf of each element, without cancellation for large arguments."""
    values = np.asarray(x, np.float64)
    tail = _far(np.abs(values))
    out = np.where(values < 0, 2.0 - tail, tail)
    small = np.abs(values) <= 0.46875
    out[small] = 1.0 - _near(values[small])
    return out


def _near(x: F64) -> F64:
    square = x * x
    return x * _horner(_A, square) / _horner(_B, square)


def _far(y: F64) -> F64:
    """Compute erfc(y) for y above 0.46875 (other results are not used)."""
    middle = np.clip(y, 0.46875, 4.0)
    result = _horner(_C, middle) / _horner(_D, middle)
    far = y > 4.0
    if far.any():
        inverse = 1.0 / np.square(y[far])
        tail = inverse * _horner(_P, inverse) / _horner(_Q, inverse)
        result[far] = (_ONE_OVER_SQRT_PI - tail) / y[far]
    result = result * np.exp(-np.square(np.minimum(y, 30.0)))
    return np.where(np.isnan(y), y, result)
