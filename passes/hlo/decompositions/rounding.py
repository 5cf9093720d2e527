"""Decompose rounding to integers in floating point: floor, ceil and round."""

import ml_dtypes
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.hlo.support.walk import Rule


def nearest_even(x: SSAValue, e: Emitter) -> SSAValue:
    """Round x to an integer, ties to even: (|x| + 2^m) - 2^m with the sign of x.

    m is the number of mantissa bits, so the addition itself rounds to an integer. Values from 2^m
    on, which are already integers, infinities and NaN are unchanged.
    """
    magic = 2.0 ** int(ml_dtypes.finfo(np_dtype(element(x))).nmant)
    size = e.unary("abs", x)
    rounded = e.binary_number("subtract", e.binary_number("add", size, magic), magic)
    return e.select(e.compare_number(size, magic, "LT"), with_sign_of(x, rounded, e), x)


def with_sign_of(x: SSAValue, size: SSAValue, e: Emitter) -> SSAValue:
    """Give `size` (not negative) the sign bit of x, including -0."""
    width = 8 * np_dtype(element(x)).itemsize
    bits = IntegerType(width, Signedness.UNSIGNED)
    sign = e.binary_number("and", e.bitcast(x, bits), 1 << (width - 1))
    return e.bitcast(e.binary("or", sign, e.bitcast(size, bits)), element(x))


def floor_of(x: SSAValue, e: Emitter) -> SSAValue:
    """Return the largest integer not above x."""
    near = nearest_even(x, e)
    return e.select(e.compare(near, x, "GT"), e.binary_number("subtract", near, 1), near)


def floor(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute floor(x): the nearest integer, minus one where that is above x."""
    return floor_of(op.operands[0], e)


def ceil(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute ceil(x) = -floor(-x), which is -0 for x above -1."""
    return e.unary("negate", floor_of(e.unary("negate", op.operands[0]), e))


def round_nearest_even(op: Operation, e: Emitter) -> SSAValue | None:
    """Round to nearest, ties to even, by adding and subtracting 2^mantissa."""
    return nearest_even(op.operands[0], e)


def round_nearest_afz(op: Operation, e: Emitter) -> SSAValue | None:
    """Round to nearest, ties away from zero: floor(|x|), plus one if |x| - floor(|x|) >= 1/2."""
    x = op.operands[0]
    size = e.unary("abs", x)
    down = floor_of(size, e)
    up = e.compare_number(e.binary("subtract", size, down), 0.5, "GE")
    return with_sign_of(x, e.select(up, e.binary_number("add", down, 1), down), e)


RULES: dict[str, Rule] = {
    "floor": floor,
    "ceil": ceil,
    "round_nearest_even": round_nearest_even,
    "round_nearest_afz": round_nearest_afz,
}
