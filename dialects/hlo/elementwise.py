"""Elementwise operations of two and three operands; those of one are in unary.py."""

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
from neuronir.dialects.hlo.unary import UNARY_OPS


class BinaryOp(HloOp, abc.ABC):
    """Two operands and a result of the same shape."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum; of pred, logical or."""

    name = "hlo.add"


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and; of pred, logical and."""

    name = "hlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """Angle of the point (rhs, lhs)."""

    name = "hlo.atan2"


@irdl_op_definition
class ComplexOp(BinaryOp):
    """A complex tensor of real part lhs and imaginary part rhs."""

    name = "hlo.complex"


@irdl_op_definition
class DivideOp(BinaryOp):
    """Quotient; of integers, rounded towards zero."""

    name = "hlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger; NaN if either is NaN."""

    name = "hlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller; NaN if either is NaN."""

    name = "hlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """Product; of pred, logical and."""

    name = "hlo.multiply"


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or; of pred, logical or."""

    name = "hlo.or"


@irdl_op_definition
class PowerOp(BinaryOp):
    """lhs to the power of rhs."""

    name = "hlo.power"


@irdl_op_definition
class RemainderOp(BinaryOp):
    """Remainder of the division, with the sign of lhs."""

    name = "hlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """lhs * 2**rhs, bits shifted out are lost."""

    name = "hlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """Shift right, copies of the sign bit come in."""

    name = "hlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """Shift right, zeros come in."""

    name = "hlo.shift_right_logical"


@irdl_op_definition
class StochasticConvertOp(BinaryOp):
    """Convert lhs, rounding by the random bits rhs."""

    name = "hlo.stochastic_convert"


@irdl_op_definition
class SubtractOp(BinaryOp):
    """Difference; integers wrap."""

    name = "hlo.subtract"


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or."""

    name = "hlo.xor"


@irdl_op_definition
class CompareOp(BinaryOp):
    """Compare: direction is one of EQ NE LT LE GT GE; compare_type one of FLOAT TOTALORDER
    SIGNED UNSIGNED where the text says it. The result is pred."""

    name = "hlo.compare"

    direction = prop_def(StringAttr)
    compare_type = opt_prop_def(StringAttr)


@irdl_op_definition
class SelectOp(HloOp):
    """on_true where pred holds, else on_false; a scalar pred chooses one of them whole."""

    name = "hlo.select"

    pred = operand_def()
    on_true = operand_def()
    on_false = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ClampOp(HloOp):
    """min(max(operand, min), max); the bounds have the operand's shape or are scalars."""

    name = "hlo.clamp"

    min = operand_def()
    operand = operand_def()
    max = operand_def()
    result = result_def()
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
