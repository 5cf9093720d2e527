"""Elementwise operations of one operand."""

import abc

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from neuronir.dialects.hlo.base import HloOp


class UnaryOp(HloOp, abc.ABC):
    """One operand and a result of the same shape."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value; of a complex tensor, its real magnitude."""

    name = "hlo.abs"


@irdl_op_definition
class AcosOp(UnaryOp):
    """Inverse cosine."""

    name = "hlo.acos"


@irdl_op_definition
class AcoshOp(UnaryOp):
    """Inverse hyperbolic cosine."""

    name = "hlo.acosh"


@irdl_op_definition
class AsinOp(UnaryOp):
    """Inverse sine."""

    name = "hlo.asin"


@irdl_op_definition
class AsinhOp(UnaryOp):
    """Inverse hyperbolic sine."""

    name = "hlo.asinh"


@irdl_op_definition
class AtanhOp(UnaryOp):
    """Inverse hyperbolic tangent."""

    name = "hlo.atanh"


@irdl_op_definition
class BitcastConvertOp(UnaryOp):
    """Reinterpret the bits of each element as another element type."""

    name = "hlo.bitcast_convert"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """Cube root."""

    name = "hlo.cbrt"


@irdl_op_definition
class CeilOp(UnaryOp):
    """Round up to an integer."""

    name = "hlo.ceil"


@irdl_op_definition
class ConvertOp(UnaryOp):
    """Convert each element to the element type of the result."""

    name = "hlo.convert"


@irdl_op_definition
class CopyOp(UnaryOp):
    """The operand itself, perhaps in another layout."""

    name = "hlo.copy"


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine."""

    name = "hlo.cosh"


@irdl_op_definition
class CosineOp(UnaryOp):
    """Cosine of an angle in radians."""

    name = "hlo.cosine"


@irdl_op_definition
class CountLeadingZerosOp(UnaryOp):
    """Number of zero bits above the highest one bit."""

    name = "hlo.count_leading_zeros"


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function."""

    name = "hlo.erf"


@irdl_op_definition
class ExponentialOp(UnaryOp):
    """e to the power of each element."""

    name = "hlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(UnaryOp):
    """exp(x) - 1, exact near zero."""

    name = "hlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(UnaryOp):
    """Round down to an integer."""

    name = "hlo.floor"


@irdl_op_definition
class ImagOp(UnaryOp):
    """Imaginary part of a complex tensor."""

    name = "hlo.imag"


@irdl_op_definition
class IsFiniteOp(UnaryOp):
    """Whether each element is neither infinite nor NaN, as pred."""

    name = "hlo.is_finite"


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "hlo.log"


@irdl_op_definition
class LogPlusOneOp(UnaryOp):
    """log(1 + x), exact near zero."""

    name = "hlo.log_plus_one"


@irdl_op_definition
class LogisticOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "hlo.logistic"


@irdl_op_definition
class NegateOp(UnaryOp):
    """Minus each element; integers wrap."""

    name = "hlo.negate"


@irdl_op_definition
class NotOp(UnaryOp):
    """Bitwise complement; of pred, logical not."""

    name = "hlo.not"


@irdl_op_definition
class PopcntOp(UnaryOp):
    """Number of one bits."""

    name = "hlo.popcnt"


@irdl_op_definition
class RealOp(UnaryOp):
    """Real part of a complex tensor."""

    name = "hlo.real"


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """Round to the nearest integer, halves away from zero."""

    name = "hlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """Round to the nearest integer, halves to even."""

    name = "hlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "hlo.rsqrt"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; NaN stays NaN."""

    name = "hlo.sign"


@irdl_op_definition
class SineOp(UnaryOp):
    """Sine of an angle in radians."""

    name = "hlo.sine"


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine."""

    name = "hlo.sinh"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root."""

    name = "hlo.sqrt"


@irdl_op_definition
class TanOp(UnaryOp):
    """Tangent of an angle in radians."""

    name = "hlo.tan"


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "hlo.tanh"


@irdl_op_definition
class ReducePrecisionOp(UnaryOp):
    """Round to a float format of fewer exponent and mantissa bits, kept in the same type."""

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
