"""Decompose the remainder of floats exactly for all operands."""

import math

import ml_dtypes
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float, np_dtype
from neuronir.passes.hlo.decompositions.rounding import with_sign_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import constant, element, splat

_STEP = 15
"""Bits of the quotient that one step determines."""
_PART = 8
"""Divisor bits in one product: with a quotient of at most 16 bits it is exact in f32."""
_MANTISSA = 0x007FFFFF
_ONE = 0x3F800000
_MAGIC = 1.5 * 2.0**23
"""Adding and subtracting this rounds a value below 2^22 to an integer."""


def float_remainder(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the remainder with the sign of x by long division in base 2^15; exact.

    Let |x| = a * 2^i and |y| = b * 2^k with a and b in [1, 2). The rest of a * 2^(i - k) by b is
    computed a few bits of 2^(i - k) at a time: r becomes r * 2^s - q * b, where q is the integer
    nearest to the quotient (at most 2^16), and q * b is computed in products with 8 bits of b each.
    Every intermediate value is a multiple of 2^-23 below 2 or has at most 24 bits, so nothing is
    rounded. The number of steps depends on the largest i and the least k of the types (or of a
    constant divisor): 19 in f32.
    """
    source = element(op.operands[0])
    if not is_float(source) or byte_size(source) > 4:
        return None
    x, y = (e.convert(v, f32) for v in op.operands)
    size, unit = e.unary("abs", x), e.unary("abs", y)
    a, i = _parts(size, e)
    b, k = _parts(unit, e)
    pieces = _pieces(b, _mantissa_bits(op.operands[1]), e)
    inverse = e.binary("divide", e.fill_like(1, b), b)
    left = e.binary("maximum", e.binary("subtract", i, k), e.fill_like(0, i))
    rest = a
    for _ in range(_steps(op)):
        now = e.binary("minimum", left, e.fill_like(_STEP, left))
        left = e.binary("subtract", left, now)
        rest = e.binary("multiply", rest, _power_of_two(now, e))
        quotient = e.binary("multiply", rest, inverse)
        quotient = e.binary_number("add", quotient, _MAGIC)
        quotient = e.binary_number("subtract", quotient, _MAGIC)
        for piece in pieces:
            rest = e.binary("subtract", rest, e.binary("multiply", quotient, piece))
    rest = e.select(e.compare_number(rest, 0, "LT"), e.binary("add", rest, b), rest)
    # In two factors, because the power may be below the smallest normal value.
    normal = e.binary("maximum", k, e.fill_like(-126, k))
    rest = e.binary("multiply", rest, _power_of_two(e.binary("subtract", k, normal), e))
    rest = e.binary("multiply", rest, _power_of_two(normal, e))
    rest = e.select(e.compare(size, unit, "LT"), x, with_sign_of(x, rest, e))
    defined = e.binary(
        "and", e.compare_number(size, math.inf, "LT"), e.compare_number(unit, 0, "GT")
    )
    return e.convert(e.select(defined, rest, e.fill_like(math.nan, rest)), source)


def _parts(size: SSAValue, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return (a in [1, 2), k in s32) with a * 2^k the value, which is not negative.

    The result is undefined for zero, infinity and NaN.
    """
    small = e.compare_number(size, 2.0**-62, "LT")
    bits = e.bitcast(e.select(small, e.binary_number("multiply", size, 2.0**64), size), i32)
    mantissa = e.binary_number("and", bits, _MANTISSA)
    fraction = e.bitcast(e.binary_number("or", mantissa, _ONE), f32)
    exponent = e.binary_number("shift_right_logical", bits, 23)
    bias = e.select(small, e.fill_like(127 + 64, exponent), e.fill_like(127, exponent))
    return fraction, e.binary("subtract", exponent, bias)


def _power_of_two(exponent: SSAValue, e: Emitter) -> SSAValue:
    """Compute 2^n for s32 values from -126 to 127."""
    biased = e.binary_number("add", exponent, 127)
    return e.bitcast(e.binary_number("shift_left", biased, 23), f32)


def _pieces(b: SSAValue, bits: int, e: Emitter) -> list[SSAValue]:
    """Split b, which has the given number of bits, into parts of 8 bits each."""
    found: list[SSAValue] = []
    rest = b
    for start in range(_PART, bits, _PART):
        kept = e.binary_number("and", e.bitcast(b, i32), -(1 << (24 - start)))
        top = e.bitcast(kept, f32)
        taken = top
        for one in found:
            taken = e.binary("subtract", taken, one)
        found.append(taken)
        rest = e.binary("subtract", b, top)
    return [*found, rest]


def _mantissa_bits(y: SSAValue) -> int:
    """Return the mantissa bits of the type, including the implicit one."""
    return int(ml_dtypes.finfo(np_dtype(element(y))).nmant) + 1


def _steps(op: Operation) -> int:
    """Return the steps for the largest difference of exponents."""
    info = ml_dtypes.finfo(np_dtype(element(op.operands[0])))
    largest = math.frexp(float(info.max))[1]
    least = math.frexp(float(info.smallest_subnormal))[1]
    known = constant(op.operands[1])
    number = splat(op.operands[1]) if known is None else abs(known.astype("f8")).min(initial=1e300)
    if number is not None and math.isfinite(float(number)) and float(number) != 0:
        least = math.frexp(abs(float(number)))[1]
    return max(1, -(-(largest - least) // _STEP))
