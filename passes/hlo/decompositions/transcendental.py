"""Decompose functions without a table on the machine into exp, log, tanh, sin, cos and
arithmetic.
"""

import math
from functools import cache

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.interpreter_bounds import TRIGONOMETRIC_RANGE
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer
from neuronir.passes.hlo.decompositions.elementary import integer_power
from neuronir.passes.hlo.decompositions.rounding import floor_of, with_sign_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, producer, shape, splat, tensor
from neuronir.passes.hlo.support.walk import Rule

_LARGEST_EXPONENT = 64
"""Integer exponents up to this are computed by repeated multiplication."""


def power(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute x^y: products for small integer exponents, roots for halves, else exp(y * log|x|).

    Integers always use products. As in IEEE pow, the result is 1 for y = 0 or x = 1, NaN for
    negative x and fractional y, and negative for negative x and odd y. The relative error grows
    with |y * log|x||.
    """
    x, y = op.operands
    number = splat(y)
    if number is not None and float(number) == round(float(number)):
        if abs(float(number)) <= _LARGEST_EXPONENT and (is_float(element(x)) or float(number) >= 0):
            return _integer_power(x, int(number), e)
    if not is_float(element(x)):
        return integer_power(x, y, e)
    if number is not None and float(number) == 0.5:
        return e.unary("sqrt", x)
    if number is not None and float(number) == -0.5:
        return e.unary("rsqrt", x)
    return _general_power(x, y, e)


def _integer_power(x: SSAValue, n: int, e: Emitter) -> SSAValue:
    result: SSAValue | None = None
    square, rest = x, abs(n)
    while rest:
        if rest & 1:
            result = square if result is None else e.binary("multiply", result, square)
        rest >>= 1
        if rest:
            square = e.binary("multiply", square, square)
    if result is None:
        return e.fill_like(1, x)
    return result if n > 0 else e.binary("divide", e.fill_like(1, x), result)


def _general_power(x: SSAValue, y: SSAValue, e: Emitter) -> SSAValue:
    one = e.fill_like(1, x)
    size = e.unary("abs", x)
    raw = e.unary("exponential", e.binary("multiply", y, e.unary("log", size)))
    # 0 * inf: |x| = 1 with an infinite y.
    value = e.select(e.compare(size, one, "EQ"), one, raw)
    half = e.binary_number("multiply", y, 0.5)
    whole = e.compare(floor_of(y, e), y, "EQ")
    even = e.compare(floor_of(half, e), half, "EQ")
    negative = _sign_bit(x, e)
    signed = e.select(even, value, e.unary("negate", value))
    inside = e.binary(
        "and", e.compare_number(size, math.inf, "LT"), e.compare_number(size, 0, "GT")
    )
    # (-inf)^y and (-0)^y are inf or 0 for fractional y.
    of_fraction = e.select(inside, e.fill_like(math.nan, x), value)
    below = e.select(whole, signed, of_fraction)
    value = e.select(negative, below, value)
    value = e.select(e.compare(y, y, "EQ"), value, y)
    exact_one = e.binary("or", e.compare_number(y, 0, "EQ"), e.compare(x, one, "EQ"))
    return e.select(exact_one, one, value)


def exponential_minus_one(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute exp(x) - 1; near zero 2t / (1 - t) with t = tanh(x / 2), which does not cancel.

    For x <= 0, as in elu, nothing cancels: 1 - t is between 1 and 2.
    """
    x = op.operands[0]
    t = e.unary("tanh", e.binary_number("multiply", x, 0.5))
    small = e.binary("divide", e.binary("add", t, t), e.binary("subtract", e.fill_like(1, x), t))
    if _at_most_zero(x):
        return small
    large = e.binary_number("subtract", e.unary("exponential", x), 1)
    return e.select(e.compare_number(e.unary("abs", x), 0.5, "LT"), small, large)


def _at_most_zero(x: SSAValue) -> bool:
    """Return whether a value is 0 or less (or NaN) by construction."""
    converted = producer(x, "convert")
    if converted is not None and is_float(element(converted.operands[0])):
        return _at_most_zero(converted.operands[0])
    negated = producer(x, "negate")
    if negated is not None:
        return producer(negated.operands[0], "abs") is not None
    for opcode in ("multiply", "divide"):
        scaled = producer(x, opcode)
        scale = None if scaled is None else splat(scaled.operands[1])
        if scaled is not None and scale is not None and float(scale) >= 0:
            return _at_most_zero(scaled.operands[0])
    limited = producer(x, "minimum")
    bounds = [] if limited is None else [splat(v) for v in limited.operands]
    return any(b is not None and float(b) <= 0 for b in bounds)


def log_plus_one(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute log(1 + x) as log(u) * x / (u - 1) with the rounded u = 1 + x, which cancels the
    error.
    """
    x = op.operands[0]
    u = e.binary_number("add", x, 1)
    rest = e.binary_number("subtract", u, 1)
    log = e.unary("log", u)
    corrected = e.binary("multiply", log, e.binary("divide", x, rest))
    # Without rounding (also for infinities) there is no error to correct.
    plain = e.binary("or", e.compare(rest, x, "EQ"), e.compare_number(u, math.inf, "EQ"))
    value = e.select(plain, log, corrected)
    return e.select(e.compare_number(u, 1, "EQ"), x, value)


def logistic(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute 1 / (1 + exp(-x))."""
    x = op.operands[0]
    one = e.fill_like(1, x)
    power_ = e.unary("exponential", e.unary("negate", x))
    return e.binary("divide", one, e.binary("add", power_, one))


def cbrt(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute exp(log|x| / 3) with the sign of x and a Newton step; 0 and infinities are
    unchanged.
    """
    x = op.operands[0]
    size = e.unary("abs", x)
    guess = e.unary("exponential", e.binary_number("multiply", e.unary("log", size), 1 / 3))
    square = e.binary("multiply", guess, guess)
    step = e.binary(
        "divide", e.binary("subtract", guess, e.binary("divide", size, square)), e.fill_like(3, x)
    )
    root = e.binary("subtract", guess, step)
    inside = e.binary(
        "and", e.compare_number(size, 0, "GT"), e.compare_number(size, math.inf, "LT")
    )
    return e.select(inside, with_sign_of(x, root, e), x)


def tan(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute sin(x) / cos(x)."""
    x = op.operands[0]
    return e.binary("divide", e.unary("sine", x), e.unary("cosine", x))


@cache
def _arctangent_coefficients() -> tuple[float, ...]:
    """Return atan(z) / z as a polynomial in z^2 on [0, 1], interpolated at Chebyshev points in
    f64.
    """
    fit = np.polynomial.Chebyshev.interpolate(
        lambda s: np.where(s > 0, np.arctan(np.sqrt(s)) / np.sqrt(np.maximum(s, 1e-300)), 1.0),
        11,
        domain=[0.0, 1.0],
    )
    return tuple(float(c) for c in fit.convert(kind=np.polynomial.Polynomial).coef)


def atan2(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the angle of (x, y): a polynomial of min / max of the magnitudes, moved to its octant.

    Zeros and infinities of either sign are treated as in IEEE atan2.
    """
    y, x = op.operands
    ay, ax = e.unary("abs", y), e.unary("abs", x)
    swap = e.compare(ay, ax, "GT")
    # NaN must propagate: min and max keep it.
    low, high = e.binary("minimum", ax, ay), e.binary("maximum", ax, ay)
    one, zero = e.fill_like(1, x), e.fill_like(0, x)
    z = e.binary("divide", low, high)
    z = e.select(e.compare_number(high, 0, "EQ"), zero, z)
    z = e.select(e.compare_number(low, math.inf, "EQ"), one, z)
    s = e.binary("multiply", z, z)
    value: SSAValue | None = None
    for c in reversed(_arctangent_coefficients()):
        value = (
            e.fill_like(c, x)
            if value is None
            else e.binary_number("add", e.binary("multiply", value, s), c)
        )
    angle = z if value is None else e.binary("multiply", value, z)
    angle = e.select(swap, e.binary("subtract", e.fill_like(math.pi / 2, x), angle), angle)
    left = _sign_bit(x, e)
    angle = e.select(left, e.binary("subtract", e.fill_like(math.pi, x), angle), angle)
    return e.select(_sign_bit(y, e), e.unary("negate", angle), angle)


def _sign_bit(x: SSAValue, e: Emitter) -> SSAValue:
    """Return whether x is negative or -0 (1 / -0 is -inf)."""
    inverse = e.binary("divide", e.fill_like(1, x), x)
    zero = e.compare_number(x, 0, "EQ")
    return e.select(zero, e.compare_number(inverse, 0, "LT"), e.compare_number(x, 0, "LT"))


REDUCED = "hlo.reduced"
"""Attribute of a sine whose argument is known to be in [-pi, pi]."""


_WHOLE = 1.5 * 2.0**23
"""Adding and subtracting this rounds a value below 2^22 to an integer."""
_TURNS = TRIGONOMETRIC_RANGE / (2 * math.pi)
"""Full turns of the largest argument."""
_PI = float(np.nextafter(np.float32(math.pi), np.float32(0)))
"""The largest f32 value below pi, where the machine's table ends."""


@cache
def _turn_parts() -> tuple[float, ...]:
    """Return 2 pi in parts whose products with a number of turns are exact in f32.

    Each part is an integer multiple of a power of two, small enough that the product has 24 bits.
    The products of the last part are below 1, and it is rounded. No part is negative, so that -0
    minus zero products stays -0.
    """
    rest = 2 * math.pi
    parts: list[float] = []
    while rest * _TURNS > 1:
        places = math.floor(math.log2(2**24 / _TURNS / rest))
        parts.append(math.floor(rest * 2.0**places) / 2.0**places)
        rest -= parts[-1]
    return (*parts, rest)


def _whole_turns(x: SSAValue, e: Emitter) -> SSAValue:
    """Compute x / (2 pi), rounded to an integer."""
    turns = e.binary_number("multiply", x, 1 / (2 * math.pi))
    turns = e.binary_number("add", turns, _WHOLE)
    return e.binary_number("subtract", turns, _WHOLE)


def _less_turns(x: SSAValue, e: Emitter) -> SSAValue:
    """Compute x - 2 pi k with the integer k nearest to the rounded quotient.

    Up to TRIGONOMETRIC_RANGE the result exceeds [-pi, pi] by less than 0.1. It is exact except for
    the last product and difference.
    """
    turns = _whole_turns(x, e)
    for part in _turn_parts():
        x = e.binary("subtract", x, e.binary_number("multiply", turns, part))
    return x


def _table_sine(x: SSAValue, e: Emitter) -> SSAValue:
    value = e.unary("sine", x)
    if isinstance(value.owner, Operation):
        value.owner.attributes[REDUCED] = UnitAttr()
    return value


def sine(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute sin of the argument reduced to [-pi, pi], the range of the machine's table."""
    if REDUCED in op.attributes:
        return None
    angle = _less_turns(op.operands[0], e)
    turns = _whole_turns(angle, e)  # one more turn if the quotient was rounded to the other side
    angle = e.binary("subtract", angle, e.binary_number("multiply", turns, 2 * math.pi))
    angle = e.binary_number("maximum", angle, -_PI)
    return _table_sine(e.binary_number("minimum", angle, _PI), e)


def cosine(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute sin(pi / 2 - |x|) of the argument reduced to about [-pi, pi]."""
    size = e.unary("abs", _less_turns(op.operands[0], e))
    size = e.binary_number("minimum", size, 1.5 * _PI)
    return _table_sine(e.binary("subtract", e.fill_like(math.pi / 2, size), size), e)


def in_f32(rule: Rule) -> Rule:
    """Wrap a rule for f32 and f64; narrower floats are computed in f32, other types are
    unchanged.
    """

    def run(op: Operation, e: Emitter) -> SSAValue | None:
        type_ = element(op.results[0])
        if op.name == "hlo.power" and is_integer(type_):
            return rule(op, e)
        if not is_float(type_):
            return None
        if byte_size(type_) >= 4:
            return rule(op, e)
        operands = [e.convert(v, f32) for v in op.operands]
        wide = e.like(op, operands, tensor(shape(op.results[0]), f32))
        return e.convert(wide, type_)

    return run


RULES: dict[str, Rule] = {
    "power": in_f32(power),
    "exponential_minus_one": in_f32(exponential_minus_one),
    "log_plus_one": in_f32(log_plus_one),
    "logistic": in_f32(logistic),
    "cbrt": in_f32(cbrt),
    "tan": in_f32(tan),
    "atan2": in_f32(atan2),
    "sine": in_f32(sine),
    "cosine": in_f32(cosine),
}
