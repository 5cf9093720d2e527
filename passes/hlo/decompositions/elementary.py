"""Decompose elementwise ops into a few simpler ones.

These are clamp, sign, is_finite, bit counts, shifts and integer division.
"""

import math

import ml_dtypes
from xdsl.dialects.builtin import IntegerType, Signedness, UnitAttr, bf16, f16, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float, is_integer, is_unsigned, np_dtype
from neuronir.passes.hlo.decompositions.remainder import float_remainder
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import constant, element, shape, splat
from neuronir.passes.hlo.support.walk import Rule

U32 = IntegerType(32, Signedness.UNSIGNED)
IN_RANGE = "hlo.in_range"
"""Attribute of a shift whose amounts are known to be less than the width."""

SCALES: dict[Attribute, tuple[int, int, int]] = {
    f32: (-23, 127, 22),
    bf16: (-23, 127, 22),
    f16: (-10, 15, 9),
}
"""Exponents of 2 by which sign limits and multiplies numbers of a type: the least subnormal number
becomes 1 or more, and the limit stays finite.
"""


def clamp(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute min(max(x, low), high), which propagates NaN; scalar bounds are broadcast."""
    low, x, high = op.operands
    low, high = (e.broadcast(v, shape(x), ()) if shape(v) == () else v for v in (low, high))
    return e.binary("minimum", e.binary("maximum", x, low), high)


def is_finite(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute |x| < inf, which is false for NaN."""
    if not is_float(element(op.operands[0])):
        return None
    return e.compare_number(e.unary("abs", op.operands[0]), math.inf, "LT")


def sign(op: Operation, e: Emitter) -> SSAValue | None:
    """Return 1, -1, or x where it is neither above nor below zero (0, -0, NaN).

    Floats are limited, multiplied twice by a large power of two, which is exact, and limited to
    [-1, 1]: three instructions of two steps each.
    """
    x = op.operands[0]
    if not (is_float(element(x)) or is_integer(element(x))):
        return None
    if element(x) in SCALES:
        limit, *factors = (2.0**n for n in SCALES[element(x)])
        x = _within(x, limit, e)
        for factor in factors:
            x = e.binary_number("multiply", x, factor)
        return _within(x, 1, e)
    positive = e.select(e.compare_number(x, 0, "GT"), e.fill_like(1, x), x)
    if is_unsigned(element(x)):
        return positive
    return e.select(e.compare_number(x, 0, "LT"), e.fill_like(-1, x), positive)


def _within(x: SSAValue, limit: float, e: Emitter) -> SSAValue:
    return e.binary_number("minimum", e.binary_number("maximum", x, -limit), limit)


def _as_u32(x: SSAValue, e: Emitter) -> SSAValue | None:
    """Convert an integer of at most 32 bits to u32 with zeros in the upper bits."""
    width = 8 * np_dtype(element(x)).itemsize
    if not is_integer(element(x)) or width > 32:
        return None
    same_width = IntegerType(width, Signedness.UNSIGNED)
    return e.convert(e.bitcast(x, same_width), U32)


def _shift_right(x: SSAValue, n: int, e: Emitter) -> SSAValue:
    return e.binary_number("shift_right_logical", x, n)


def popcnt(op: Operation, e: Emitter) -> SSAValue | None:
    """Count the set bits with sums over 1, 2, 4, 8 and 16 bits."""
    x = _as_u32(op.operands[0], e)
    if x is None:
        return None
    pairs = e.binary("subtract", x, e.binary_number("and", _shift_right(x, 1, e), 0x55555555))
    low = e.binary_number("and", pairs, 0x33333333)
    high = e.binary_number("and", _shift_right(pairs, 2, e), 0x33333333)
    fours = e.binary("add", low, high)
    eights = e.binary_number("and", e.binary("add", fours, _shift_right(fours, 4, e)), 0x0F0F0F0F)
    halves = e.binary("add", eights, _shift_right(eights, 8, e))
    whole = e.binary("add", halves, _shift_right(halves, 16, e))
    return e.convert(e.binary_number("and", whole, 0x3F), element(op.results[0]))


def count_leading_zeros(op: Operation, e: Emitter) -> SSAValue | None:
    """Subtract from the width the set bits after the highest one was copied to all lower bits."""
    x = _as_u32(op.operands[0], e)
    if x is None:
        return None
    width = 8 * np_dtype(element(op.operands[0])).itemsize
    for n in (1, 2, 4, 8, 16):
        x = e.binary("or", x, _shift_right(x, n, e))
    ones = e.unary("popcnt", x)
    return e.convert(e.binary("subtract", e.fill_like(width, ones), ones), element(op.results[0]))


def shift(op: Operation, e: Emitter) -> SSAValue | None:
    """Shift, where amounts that may reach the width give 0 (or the sign), as HLO defines."""
    x, amount = op.operands
    width = 8 * np_dtype(element(x)).itemsize
    number = splat(amount)
    if IN_RANGE in op.attributes or (number is not None and 0 <= int(number) < width):
        return None
    inside = e.compare_number(amount, width, "LT")
    if not is_unsigned(element(x)):
        inside = e.binary("and", inside, e.compare_number(amount, 0, "GE"))
    arithmetic = op.name == "hlo.shift_right_arithmetic"
    safe = e.select(inside, amount, e.fill_like(width - 1 if arithmetic else 0, amount))
    shifted = e.binary(op.name.removeprefix("hlo."), x, safe)
    owner = shifted.owner
    if isinstance(owner, Operation):
        owner.attributes[IN_RANGE] = UnitAttr()
    return shifted if arithmetic else e.select(inside, shifted, e.fill_like(0, x))


def signed_quotient(a: SSAValue, b: SSAValue, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return (quotient, remainder) of s32 values, b not 0: an f32 quotient, corrected twice.

    The first estimate is off by at most |a| * 2^-22 + 1. Dividing the rest gives a quotient that is
    off by at most one, which the signs of the rest correct.
    """
    quotient = e.convert(e.binary("divide", e.convert(a, f32), e.convert(b, f32)), i32)
    rest = e.binary("subtract", a, e.binary("multiply", quotient, b))
    more = e.convert(e.binary("divide", e.convert(rest, f32), e.convert(b, f32)), i32)
    quotient = e.binary("add", quotient, more)
    rest = e.binary("subtract", a, e.binary("multiply", quotient, b))
    zero = e.fill_like(0, a)
    size_b = e.select(e.compare(b, zero, "LT"), e.unary("negate", b), b)
    unit = e.select(e.compare(b, zero, "LT"), e.fill_like(-1, a), e.fill_like(1, a))
    for above in (True, False):
        # The rest must have the sign of a and be smaller than b.
        if above:
            wrong = e.select(
                e.compare(a, zero, "GE"),
                e.compare(rest, size_b, "GE"),
                e.compare(rest, zero, "GT"),
            )
            quotient = e.select(wrong, e.binary("add", quotient, unit), quotient)
            rest = e.select(wrong, e.binary("subtract", rest, size_b), rest)
        else:
            wrong = e.select(
                e.compare(a, zero, "GE"),
                e.compare(rest, zero, "LT"),
                e.compare(rest, e.unary("negate", size_b), "LE"),
            )
            quotient = e.select(wrong, e.binary("subtract", quotient, unit), quotient)
            rest = e.select(wrong, e.binary("add", rest, size_b), rest)
    return quotient, rest


def _integer_parts(op: Operation, e: Emitter) -> tuple[SSAValue, SSAValue, SSAValue] | None:
    """Return (quotient, remainder, b is 0) in s32 for integer types that s32 contains."""
    a, b = op.operands
    if not is_integer(element(a)):
        return None
    info = ml_dtypes.iinfo(np_dtype(element(a)))
    if int(info.max) > 2**31 - 1:
        return None
    a, b = e.convert(a, i32), e.convert(b, i32)
    by_zero = e.compare_number(b, 0, "EQ")
    # The minimum has no absolute value: only itself is not smaller.
    least = e.compare_number(b, -(2**31), "EQ")
    odd_case = e.binary("or", by_zero, least)
    quotient, rest = signed_quotient(a, e.select(odd_case, e.fill_like(1, b), b), e)
    same = e.compare(a, b, "EQ")
    one, zero = e.fill_like(1, a), e.fill_like(0, a)
    quotient = e.select(least, e.select(same, one, zero), quotient)
    rest = e.select(least, e.select(same, zero, a), rest)
    return quotient, rest, by_zero


def divide(op: Operation, e: Emitter) -> SSAValue | None:
    """Divide integers towards zero; x / 0 is -1 (all ones), INT_MIN / -1 is INT_MIN."""
    parts = _integer_parts(op, e)
    if parts is None:
        return None
    quotient, _, by_zero = parts
    value = e.select(by_zero, e.fill_like(-1, quotient), quotient)
    return e.convert(value, element(op.results[0]))


def remainder(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the remainder with the sign of x; x % 0 is x."""
    if is_float(element(op.operands[0])):
        return float_remainder(op, e)
    parts = _integer_parts(op, e)
    if parts is None:
        return None
    _, rest, by_zero = parts
    value = e.select(by_zero, e.convert(op.operands[0], i32), rest)
    return e.convert(value, element(op.results[0]))


def integer_power(x: SSAValue, y: SSAValue, e: Emitter) -> SSAValue:
    """Compute x^y of integers modulo 2^width: squares of x, multiplied if y has the bit.

    For negative y, the result is 1 / x^|y| truncated: 1 or -1 if x is 1 or -1, else 0.
    """
    type_ = np_dtype(element(y))
    known = constant(y)
    most = int(ml_dtypes.iinfo(type_).max if known is None else known.max(initial=0))
    one, zero = e.fill_like(1, x), e.fill_like(0, x)
    result, square = one, x
    for bit in range(most.bit_length()):
        if bit:
            square = e.binary("multiply", square, square)
        chosen = e.compare_number(e.binary_number("and", y, 1 << bit), 0, "NE")
        result = e.select(chosen, e.binary("multiply", result, square), result)
    if is_unsigned(element(y)) or (known is not None and int(known.min(initial=0)) >= 0):
        return result
    odd = e.compare_number(e.binary_number("and", y, 1), 0, "NE")
    minus = e.fill_like(-1, x)
    unit = e.select(e.compare(x, minus, "EQ"), e.select(odd, minus, one), zero)
    unit = e.select(e.compare(x, one, "EQ"), one, unit)
    return e.select(e.compare_number(y, 0, "LT"), unit, result)


def optimization_barrier(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove a barrier, because the scheduler keeps the given order."""
    return op.operands[0]


RULES: dict[str, Rule] = {
    "clamp": clamp,
    "is_finite": is_finite,
    "sign": sign,
    "popcnt": popcnt,
    "count_leading_zeros": count_leading_zeros,
    "shift_left": shift,
    "shift_right_logical": shift,
    "shift_right_arithmetic": shift,
    "divide": divide,
    "remainder": remainder,
    "optimization_barrier": optimization_barrier,
}
