"""reduce_precision: rounding to fewer bits of exponent and mantissa, on the bits of f32."""

from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, f32
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.hlo.support.walk import Rule

U32 = IntegerType(32, Signedness.UNSIGNED)
MANTISSA = 23
EXPONENT_MASK = 0x7F800000
SIGN_MASK = 0x80000000


def _number(op: Operation, name: str) -> int:
    return int(cast(IntegerAttr[IntegerType], op.properties[name]).value.data)


def _mantissa(bits: SSAValue, kept: int, e: Emitter) -> SSAValue:
    """Rounded to `kept` bits of mantissa, ties to even; a carry goes into the exponent."""
    dropped = MANTISSA - kept
    if dropped <= 0:
        return bits
    last = e.binary_number("shift_right_logical", bits, dropped)
    bias = e.binary_number("add", e.binary_number("and", last, 1), (1 << (dropped - 1)) - 1)
    keep = 0xFFFFFFFF ^ ((1 << dropped) - 1)
    return e.binary_number("and", e.binary("add", bits, bias), keep)


def _exponent(bits: SSAValue, width: int, e: Emitter) -> SSAValue:
    """Infinity above the range of `width` bits of exponent, zero below it, with the sign."""
    if width >= 8:
        return bits
    bias = (1 << (width - 1)) - 1
    exponent = e.binary_number("and", bits, EXPONENT_MASK)
    sign = e.binary_number("and", bits, SIGN_MASK)
    above = e.compare_number(exponent, (127 + bias) << MANTISSA, "GT")
    below = e.compare_number(exponent, (127 - bias) << MANTISSA, "LE")
    infinite = e.binary_number("or", sign, EXPONENT_MASK)
    return e.select(above, infinite, e.select(below, sign, bits))


def reduce_precision(op: Operation, e: Emitter) -> SSAValue | None:
    """Round the bits of the f32 value: mantissa to nearest even, then the range of the exponent
    (no subnormals); NaN stays."""
    x = op.operands[0]
    if element(x).name not in ("f32", "bf16", "f16"):
        return None
    wide = e.convert(x, f32)
    bits = _mantissa(e.bitcast(wide, U32), _number(op, "mantissa_bits"), e)
    bits = _exponent(bits, _number(op, "exponent_bits"), e)
    rounded = e.convert(e.bitcast(bits, f32), element(x))
    return e.select(e.compare(x, x, "NE"), x, rounded)


RULES: dict[str, Rule] = {"reduce_precision": reduce_precision}
