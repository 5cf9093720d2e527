"""Decompose hyperbolic functions, their inverses, asin and acos with exp, log, sqrt and atan2."""

import math

from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.decompositions.rounding import with_sign_of
from neuronir.passes.hlo.decompositions.transcendental import in_f32
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import Rule

_LARGE = 1.0e9
"""From here on x^2 + 1 and x^2 round to the same f32 value, and so do their roots and x."""


def _half_power(size: SSAValue, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return (exp(size / 2), exp(size) / 2), the latter as a square to avoid early overflow."""
    root = e.unary("exponential", e.binary_number("multiply", size, 0.5))
    return root, e.binary("multiply", e.binary_number("multiply", root, 0.5), root)


def cosh(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute (exp(|x|) + exp(-|x|)) / 2."""
    root, half = _half_power(e.unary("abs", op.operands[0]), e)
    below = e.binary("divide", e.fill_like(0.5, root), root)
    return e.binary("add", half, e.binary("divide", below, root))


def sinh(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute (t + t / (t + 1)) / 2 with t = exp(|x|) - 1, which does not cancel.

    Above 20 the result is exp(|x|) / 2.
    """
    size = e.unary("abs", op.operands[0])
    t = e.unary("exponential_minus_one", size)
    quotient = e.binary("divide", t, e.binary_number("add", t, 1))
    small = e.binary_number("multiply", e.binary("add", t, quotient), 0.5)
    large = _half_power(size, e)[1]
    value = e.select(e.compare_number(size, 20, "LT"), small, large)
    return with_sign_of(op.operands[0], value, e)


def asinh(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute log(1 + (a + a^2 / (1 + sqrt(a^2 + 1)))) with a = |x|; log(a) + log(2) for large
    a.
    """
    size = e.unary("abs", op.operands[0])
    square = e.binary("multiply", size, size)
    root = e.unary("sqrt", e.binary_number("add", square, 1))
    part = e.binary("divide", square, e.binary_number("add", root, 1))
    small = e.unary("log_plus_one", e.binary("add", size, part))
    value = e.select(e.compare_number(size, _LARGE, "LT"), small, _log_of_double(size, e))
    return with_sign_of(op.operands[0], value, e)


def acosh(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute log(1 + (t + sqrt(t (t + 2)))) with t = x - 1.

    The result is log(x) + log(2) for large x and NaN below 1.
    """
    x = op.operands[0]
    t = e.binary_number("subtract", x, 1)
    product = e.binary("multiply", t, e.binary_number("add", t, 2))
    small = e.unary("log_plus_one", e.binary("add", t, e.unary("sqrt", product)))
    value = e.select(e.compare_number(x, _LARGE, "LT"), small, _log_of_double(x, e))
    return e.select(e.compare_number(x, 1, "LT"), e.fill_like(math.nan, x), value)


def _log_of_double(x: SSAValue, e: Emitter) -> SSAValue:
    return e.binary_number("add", e.unary("log", x), math.log(2))


def atanh(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute log(1 + 2a / (1 - a)) / 2 with a = |x|."""
    size = e.unary("abs", op.operands[0])
    below = e.binary("subtract", e.fill_like(1, size), size)
    quotient = e.binary("divide", e.binary_number("multiply", size, 2), below)
    value = e.binary_number("multiply", e.unary("log_plus_one", quotient), 0.5)
    return with_sign_of(op.operands[0], value, e)


def _leg(x: SSAValue, e: Emitter) -> SSAValue:
    """Compute sqrt(1 - x^2) without cancellation near 1."""
    one = e.fill_like(1, x)
    product = e.binary("multiply", e.binary("subtract", one, x), e.binary("add", one, x))
    return e.unary("sqrt", product)


def asin(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the angle of (sqrt(1 - x^2), x)."""
    x = op.operands[0]
    return e.binary("atan2", x, _leg(x, e))


def acos(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the angle of (x, sqrt(1 - x^2))."""
    x = op.operands[0]
    return e.binary("atan2", _leg(x, e), x)


RULES: dict[str, Rule] = {
    "sinh": in_f32(sinh),
    "cosh": in_f32(cosh),
    "asinh": in_f32(asinh),
    "acosh": in_f32(acosh),
    "atanh": in_f32(atanh),
    "asin": in_f32(asin),
    "acos": in_f32(acos),
}
