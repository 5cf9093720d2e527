"""Define elementwise ops with one operand."""

import abc

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import (
    BITS_TENSOR,
    FLOAT_OR_COMPLEX_TENSOR,
    FLOAT_TENSOR,
    INTEGER_TENSOR,
    NUMBER_TENSOR,
    TENSOR,
)


class UnaryOp(HloOp, abc.ABC):
    """An op with one operand and a result of the same shape."""

    operand = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


class FloatOp(UnaryOp, abc.ABC):
    """An op of floats."""

    operand = operand_def(FLOAT_TENSOR)


class FloatOrComplexOp(UnaryOp, abc.ABC):
    """An op of floats or complex numbers."""

    operand = operand_def(FLOAT_OR_COMPLEX_TENSOR)


class NumberOp(UnaryOp, abc.ABC):
    """An op of any elements but pred."""

    operand = operand_def(NUMBER_TENSOR)


class IntegerOp(UnaryOp, abc.ABC):
    """An op of integers."""

    operand = operand_def(INTEGER_TENSOR)


class BitsOp(UnaryOp, abc.ABC):
    """An op of integers or pred."""

    operand = operand_def(BITS_TENSOR)


@irdl_op_definition
class AbsOp(NumberOp):
    """Return the absolute value; for a complex tensor, its real magnitude."""

    name = "hlo.abs"


@irdl_op_definition
class AcosOp(FloatOrComplexOp):
    """Compute the inverse cosine."""

    name = "hlo.acos"


@irdl_op_definition
class AcoshOp(FloatOrComplexOp):
    """Compute the inverse hyperbolic cosine."""

    name = "hlo.acosh"


@irdl_op_definition
class AsinOp(FloatOrComplexOp):
    """Compute the inverse sine."""

    name = "hlo.asin"


@irdl_op_definition
class AsinhOp(FloatOrComplexOp):
    """Compute the inverse hyperbolic sine."""

    name = "hlo.asinh"


@irdl_op_definition
class AtanhOp(FloatOrComplexOp):
    """Compute the inverse hyperbolic tangent."""

    name = "hlo.atanh"


@irdl_op_definition
class BitcastConvertOp(UnaryOp):
    """Reinterpret the bits of each element as another element type."""

    name = "hlo.bitcast_convert"


@irdl_op_definition
class CbrtOp(FloatOrComplexOp):
    """Compute the cube root."""

    name = "hlo.cbrt"


@irdl_op_definition
class CeilOp(FloatOp):
    """Round up to an integer."""

    name = "hlo.ceil"


@irdl_op_definition
class ConvertOp(UnaryOp):
    """Convert each element to the element type of the result."""

    name = "hlo.convert"


@irdl_op_definition
class CopyOp(UnaryOp):
    """Return the operand, possibly in another layout."""

    name = "hlo.copy"

    operand = operand_def()
    result = result_def()


@irdl_op_definition
class CoshOp(FloatOrComplexOp):
    """Compute the hyperbolic cosine."""

    name = "hlo.cosh"


@irdl_op_definition
class CosineOp(FloatOrComplexOp):
    """Compute the cosine of an angle in radians."""

    name = "hlo.cosine"


@irdl_op_definition
class CountLeadingZerosOp(IntegerOp):
    """Count the zero bits above the highest set bit."""

    name = "hlo.count_leading_zeros"


@irdl_op_definition
class ErfOp(FloatOp):
    """Compute the error function."""

    name = "hlo.erf"


@irdl_op_definition
class ExponentialOp(FloatOrComplexOp):
    """Raise e to the power of each element."""

    name = "hlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(FloatOrComplexOp):
    """Compute exp(x) - 1 accurately near zero."""

    name = "hlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(FloatOp):
    """Round down to an integer."""

    name = "hlo.floor"


@irdl_op_definition
class ImagOp(FloatOrComplexOp):
    """Return the imaginary part of a complex tensor."""

    name = "hlo.imag"


@irdl_op_definition
class IsFiniteOp(FloatOp):
    """Return whether each element is finite (neither infinite nor NaN), as pred."""

    name = "hlo.is_finite"


@irdl_op_definition
class LogOp(FloatOrComplexOp):
    """Compute the natural logarithm."""

    name = "hlo.log"


@irdl_op_definition
class LogPlusOneOp(FloatOrComplexOp):
    """Compute log(1 + x) accurately near zero."""

    name = "hlo.log_plus_one"


@irdl_op_definition
class LogisticOp(FloatOrComplexOp):
    """Compute 1 / (1 + exp(-x))."""

    name = "hlo.logistic"


@irdl_op_definition
class NegateOp(NumberOp):
    """Negate each element; integers wrap."""

    name = "hlo.negate"


@irdl_op_definition
class NotOp(BitsOp):
    """Bitwise complement; for pred, logical not."""

    name = "hlo.not"


@irdl_op_definition
class PopcntOp(IntegerOp):
    """Count the set bits."""

    name = "hlo.popcnt"


@irdl_op_definition
class RealOp(FloatOrComplexOp):
    """Return the real part of a complex tensor."""

    name = "hlo.real"


@irdl_op_definition
class RoundNearestAfzOp(FloatOp):
    """Round to the nearest integer, with halves away from zero."""

    name = "hlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(FloatOp):
    """Round to the nearest integer, with halves to even."""

    name = "hlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(FloatOrComplexOp):
    """Compute 1 / sqrt(x)."""

    name = "hlo.rsqrt"


@irdl_op_definition
class SignOp(NumberOp):
    """Return -1, 0 or 1; NaN stays NaN."""

    name = "hlo.sign"


@irdl_op_definition
class SineOp(FloatOrComplexOp):
    """Compute the sine of an angle in radians."""

    name = "hlo.sine"


@irdl_op_definition
class SinhOp(FloatOrComplexOp):
    """Compute the hyperbolic sine."""

    name = "hlo.sinh"


@irdl_op_definition
class SqrtOp(FloatOrComplexOp):
    """Compute the square root."""

    name = "hlo.sqrt"


@irdl_op_definition
class TanOp(FloatOrComplexOp):
    """Compute the tangent of an angle in radians."""

    name = "hlo.tan"


@irdl_op_definition
class TanhOp(FloatOrComplexOp):
    """Compute the hyperbolic tangent."""

    name = "hlo.tanh"


@irdl_op_definition
class ReducePrecisionOp(FloatOp):
    """Round to a float format with fewer exponent and mantissa bits, and keep the element type."""

    name = "hlo.reduce_precision"

    exponent_bits = prop_def(IntegerAttr[IntegerType])
    mantissa_bits = prop_def(IntegerAttr[IntegerType])


UNARY_OPS = (
    AbsOp,
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    AtanhOp,
    BitcastConvertOp,
    CbrtOp,
    CeilOp,
    ConvertOp,
    CopyOp,
    CoshOp,
    CosineOp,
    CountLeadingZerosOp,
    ErfOp,
    ExponentialOp,
    ExponentialMinusOneOp,
    FloorOp,
    ImagOp,
    IsFiniteOp,
    LogOp,
    LogPlusOneOp,
    LogisticOp,
    NegateOp,
    NotOp,
    PopcntOp,
    RealOp,
    RoundNearestAfzOp,
    RoundNearestEvenOp,
    RsqrtOp,
    SignOp,
    SineOp,
    SinhOp,
    SqrtOp,
    TanOp,
    TanhOp,
    ReducePrecisionOp,
)
