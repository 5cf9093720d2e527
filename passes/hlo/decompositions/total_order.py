"""Compare in the total order of IEEE 754: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, string
from neuronir.passes.hlo.support.walk import Rule


def key_of(x: SSAValue, e: Emitter) -> SSAValue:
    """Return s32 keys in the order of the values: the bits, with all but the sign of negatives
    inverted.
    """
    return _flipped(e.bitcast(e.convert(x, f32), i32), e)


def from_key(key: SSAValue, e: Emitter) -> SSAValue:
    """Return the f32 value with a key."""
    return e.bitcast(_flipped(key, e), f32)


def _flipped(bits: SSAValue, e: Emitter) -> SSAValue:
    sign = e.binary_number("shift_right_arithmetic", bits, 31)
    return e.binary("xor", bits, e.binary_number("and", sign, 0x7FFFFFFF))


def compare(op: Operation, e: Emitter) -> SSAValue | None:
    """Compare floats in total order by comparing their keys as integers."""
    lhs, rhs = op.operands
    if string(op, "compare_type") != "TOTALORDER" or not is_float(element(lhs)):
        return None
    if np_dtype(element(lhs)).itemsize > 4:
        return None
    return e.compare(key_of(lhs, e), key_of(rhs, e), string(op, "direction"))


RULES: dict[str, Rule] = {"compare": compare}
