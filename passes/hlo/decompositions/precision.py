"""Decompose reduce_precision with bit operations on f32 or f16."""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, f32
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.hlo.support.walk import Rule

U16 = IntegerType(16, Signedness.UNSIGNED)
U32 = IntegerType(32, Signedness.UNSIGNED)


@dataclass(frozen=True)
class _Format:
    """Mantissa and exponent bits of a type."""

    mantissa: int
    exponent: int

    @property
    def exponent_mask(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def sign_mask(self) -> int:
        return 1 << (self.mantissa + self.exponent)

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1


_F32 = _Format(23, 8)
_F16 = _Format(10, 5)


def _number(op: Operation, name: str) -> int:
    return int(cast(IntegerAttr[IntegerType], op.properties[name]).value.data)


def _mantissa(bits: SSAValue, kept: int, own: _Format, e: Emitter) -> SSAValue:
    """Round to `kept` bits of mantissa, ties to even; a carry increments the exponent."""
    dropped = own.mantissa - kept
    if dropped <= 0:
        return bits
    last = e.binary_number("shift_right_logical", bits, dropped)
    bias = e.binary_number("add", e.binary_number("and", last, 1), (1 << (dropped - 1)) - 1)
    keep = 0xFFFFFFFF ^ ((1 << dropped) - 1)
    return e.binary_number("and", e.binary("add", bits, bias), keep)


def _exponent(bits: SSAValue, width: int, own: _Format, e: Emitter) -> SSAValue:
    """Flush values outside the range of `width` exponent bits to infinity or zero, with their
    sign.
    """
    if width >= own.exponent:
        return bits
    bias = (1 << (width - 1)) - 1
    exponent = e.binary_number("and", bits, own.exponent_mask)
    sign = e.binary_number("and", bits, own.sign_mask)
    above = e.compare_number(exponent, (own.bias + bias) << own.mantissa, "GT")
    below = e.compare_number(exponent, (own.bias - bias) << own.mantissa, "LE")
    infinite = e.binary_number("or", sign, own.exponent_mask)
    return e.select(above, infinite, e.select(below, sign, bits))


def reduce_precision(op: Operation, e: Emitter) -> SSAValue | None:
    """Round the mantissa to nearest even, then restrict the exponent if its range is narrower.

    There are no subnormals. NaN is unchanged. bf16 is the upper half of f32. f16 is rounded in its
    own type, because its subnormals have fewer bits.
    """
    x = op.operands[0]
    if element(x).name not in ("f32", "bf16", "f16"):
        return None
    half = element(x).name == "f16"
    own = _F16 if half else _F32
    bits = e.convert(e.bitcast(x, U16), U32) if half else e.bitcast(e.convert(x, f32), U32)
    bits = _mantissa(bits, _number(op, "mantissa_bits"), own, e)
    bits = _exponent(bits, _number(op, "exponent_bits"), own, e)
    if half:
        rounded = e.bitcast(e.convert(bits, U16), element(x))
    else:
        rounded = e.convert(e.bitcast(bits, f32), element(x))
    return e.select(e.compare(x, x, "NE"), x, rounded)


RULES: dict[str, Rule] = {"reduce_precision": reduce_precision}
