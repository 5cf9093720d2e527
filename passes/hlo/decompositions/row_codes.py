"""Write floats as fp32 values that engines compare in total order: zeros by sign, NaN as numbers.

Engines compare in fp32, where zeros of both signs are equal and NaN is unordered. The code of a
float has the same sign and a magnitude (the other bits) that is smaller by two. Then NaN is the
largest finite number of its sign, and both infinities are free. In exchange, subnormals of up to
4.2e-45 count as zeros of their sign.
"""

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from neuronir.passes.hlo.support.build import Emitter

_SIGN, _NAN, _QUIET_NAN = -(2**31), 0x7F800001, 0x7FC00000
_SHIFT = 2
"""The difference of the magnitudes."""
STEPS = (
    ("MIN", _NAN),
    ("MAX", _SIGN + _SHIFT + 1),
    ("ADD", _SIGN),
    ("MAX", _SIGN + _SHIFT),
    ("MIN", _NAN),
    ("ADD", -(_SIGN + _SHIFT)),
)
"""Operations on the bits, as 32-bit integers that wrap, and their second operands.

As integers, the largest bits are NaN, and the smallest ones are negative zeros. With the sign
inverted it is the other way round.
"""
_NAMES = {"MIN": "minimum", "MAX": "maximum", "ADD": "add"}


def code_of(x: SSAValue, e: Emitter) -> SSAValue:
    """Return finite f32 codes in the total order of f32 values; NaN of one sign are equal."""
    bits = e.bitcast(x, i32)
    for op, number in STEPS:
        bits = e.binary_number(_NAMES[op], bits, number)
    return e.bitcast(bits, f32)


def from_code(code: SSAValue, e: Emitter) -> SSAValue:
    """Return the f32 values with such codes: zeros for all that count as zeros, and quiet NaN."""
    bits = e.bitcast(code, i32)
    value = e.binary_number("add", bits, _SHIFT)
    for special, pattern in (
        (0, 0),
        (_SIGN + 1, _SIGN),
        (_NAN - _SHIFT, _QUIET_NAN),
        (_SIGN + _NAN - _SHIFT, _SIGN + _QUIET_NAN),
    ):
        here = e.compare_number(bits, special, "EQ")
        value = e.select(here, e.fill_like(pattern, value), value)
    return e.bitcast(value, f32)
