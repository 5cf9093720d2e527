"""Define elementwise ops with two and three operands; `unary.py` defines those with one."""

import abc

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import (
    BITS_TENSOR,
    FLOAT_OR_COMPLEX_TENSOR,
    FLOAT_TENSOR,
    INTEGER_TENSOR,
    NUMBER_TENSOR,
    PRED_TENSOR,
    TENSOR,
)
from neuronir.dialects.hlo.unary import UNARY_OPS


class BinaryOp(HloOp, abc.ABC):
    """An op with two operands and a result of the same shape."""

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


class BinaryNumberOp(BinaryOp, abc.ABC):
    """An op of any elements but pred."""

    lhs = operand_def(NUMBER_TENSOR)
    rhs = operand_def(NUMBER_TENSOR)


class BinaryIntegerOp(BinaryOp, abc.ABC):
    """An op of integers."""

    lhs = operand_def(INTEGER_TENSOR)
    rhs = operand_def(INTEGER_TENSOR)


class BinaryBitsOp(BinaryOp, abc.ABC):
    """An op of integers or pred."""

    lhs = operand_def(BITS_TENSOR)
    rhs = operand_def(BITS_TENSOR)


@irdl_op_definition
class AddOp(BinaryOp):
    """Add; for pred, logical or."""

    name = "hlo.add"


@irdl_op_definition
class AndOp(BinaryBitsOp):
    """Bitwise and; for pred, logical and."""

    name = "hlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """Return the angle of the point (rhs, lhs)."""

    name = "hlo.atan2"

    lhs = operand_def(FLOAT_OR_COMPLEX_TENSOR)
    rhs = operand_def(FLOAT_OR_COMPLEX_TENSOR)


@irdl_op_definition
class ComplexOp(BinaryOp):
    """Build a complex tensor from the real part lhs and the imaginary part rhs."""

    name = "hlo.complex"

    lhs = operand_def(FLOAT_TENSOR)
    rhs = operand_def(FLOAT_TENSOR)


@irdl_op_definition
class DivideOp(BinaryNumberOp):
    """Divide; integer quotients round towards zero."""

    name = "hlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """Return the larger operand; NaN if either is NaN."""

    name = "hlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """Return the smaller operand; NaN if either is NaN."""

    name = "hlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """Multiply; for pred, logical and."""

    name = "hlo.multiply"


@irdl_op_definition
class OrOp(BinaryBitsOp):
    """Bitwise or; for pred, logical or."""

    name = "hlo.or"


@irdl_op_definition
class PowerOp(BinaryNumberOp):
    """Raise lhs to the power of rhs."""

    name = "hlo.power"


@irdl_op_definition
class RemainderOp(BinaryNumberOp):
    """Return the remainder of the division, with the sign of lhs."""

    name = "hlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryIntegerOp):
    """Shift lhs left by rhs bits; bits shifted out are lost."""

    name = "hlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryIntegerOp):
    """Shift lhs right by rhs bits, filling with the sign bit."""

    name = "hlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryIntegerOp):
    """Shift lhs right by rhs bits, filling with zeros."""

    name = "hlo.shift_right_logical"


@irdl_op_definition
class StochasticConvertOp(BinaryOp):
    """Convert lhs, rounding stochastically with the random bits rhs."""

    name = "hlo.stochastic_convert"


@irdl_op_definition
class SubtractOp(BinaryNumberOp):
    """Subtract; integers wrap."""

    name = "hlo.subtract"


@irdl_op_definition
class XorOp(BinaryBitsOp):
    """Bitwise exclusive or."""

    name = "hlo.xor"


@irdl_op_definition
class CompareOp(BinaryOp):
    """Compare lhs with rhs; the result is pred.

    `direction` is EQ, NE, LT, LE, GT or GE. `compare_type`, if present, is FLOAT, TOTALORDER,
    SIGNED or UNSIGNED.
    """

    name = "hlo.compare"

    direction = prop_def(StringAttr)
    compare_type = opt_prop_def(StringAttr)


@irdl_op_definition
class SelectOp(HloOp):
    """Select on_true where pred holds, else on_false; a scalar pred selects a whole operand."""

    name = "hlo.select"

    pred = operand_def(PRED_TENSOR)
    on_true = operand_def(TENSOR)
    on_false = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class ClampOp(HloOp):
    """Compute min(max(operand, min), max); the bounds have the operand's shape or are scalars."""

    name = "hlo.clamp"

    min = operand_def(TENSOR)
    operand = operand_def(TENSOR)
    max = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


ELEMENTWISE_OPS = (
    *UNARY_OPS,
    AddOp,
    AndOp,
    Atan2Op,
    ComplexOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    OrOp,
    PowerOp,
    RemainderOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    StochasticConvertOp,
    SubtractOp,
    XorOp,
    CompareOp,
    SelectOp,
    ClampOp,
)
