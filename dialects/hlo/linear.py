"""Define dot, convolution and the dense solvers."""

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from neuronir.dialects.hlo.attributes import I64_ARRAY, i64_array, i64_attr
from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import TENSOR

NONE = i64_array(())


@irdl_op_definition
class DotOp(HloOp):
    """Sum products over the contracting dimensions, for each index of the batch dimensions.

    The result dimensions are the batch dimensions, then the free dimensions of lhs, then those of
    rhs.
    """

    name = "hlo.dot"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    lhs_batch_dims = prop_def(I64_ARRAY, NONE)
    rhs_batch_dims = prop_def(I64_ARRAY, NONE)
    lhs_contracting_dims = prop_def(I64_ARRAY)
    rhs_contracting_dims = prop_def(I64_ARRAY)
    operand_precision = opt_prop_def(ArrayAttr[StringAttr])
    algorithm = opt_prop_def(StringAttr)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class ConvolutionOp(HloOp):
    """Convolve lhs (input) with rhs (kernel); padding holds a (low, high) pair for each
    dimension.
    """

    name = "hlo.convolution"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    window_strides = prop_def(I64_ARRAY)
    padding = prop_def(I64_ARRAY)
    lhs_dilation = prop_def(I64_ARRAY)
    rhs_dilation = prop_def(I64_ARRAY)
    window_reversal = prop_def(I64_ARRAY)
    input_batch_dim = prop_def(IntegerAttr[IntegerType])
    input_feature_dim = prop_def(IntegerAttr[IntegerType])
    input_spatial_dims = prop_def(I64_ARRAY)
    kernel_input_feature_dim = prop_def(IntegerAttr[IntegerType])
    kernel_output_feature_dim = prop_def(IntegerAttr[IntegerType])
    kernel_spatial_dims = prop_def(I64_ARRAY)
    output_batch_dim = prop_def(IntegerAttr[IntegerType])
    output_feature_dim = prop_def(IntegerAttr[IntegerType])
    output_spatial_dims = prop_def(I64_ARRAY)
    feature_group_count = prop_def(IntegerAttr[IntegerType], i64_attr(1))
    batch_group_count = prop_def(IntegerAttr[IntegerType], i64_attr(1))
    operand_precision = opt_prop_def(ArrayAttr[StringAttr])
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class CholeskyOp(HloOp):
    """Return the triangular factor of each symmetric positive definite matrix in a batch."""

    name = "hlo.cholesky"

    operand = operand_def(TENSOR)
    lower = prop_def(BoolAttr)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class TriangularSolveOp(HloOp):
    """Solve op(a) x = b, or x op(a) = b, for triangular a.

    `transpose_a` is NO_TRANSPOSE, TRANSPOSE or ADJOINT.
    """

    name = "hlo.triangular_solve"

    a = operand_def(TENSOR)
    b = operand_def(TENSOR)
    left_side = prop_def(BoolAttr)
    lower = prop_def(BoolAttr)
    unit_diagonal = prop_def(BoolAttr)
    transpose_a = prop_def(StringAttr)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class FftOp(HloOp):
    """Compute the Fourier transform of the last dimensions; fft_type is FFT, IFFT, RFFT or
    IRFFT.
    """

    name = "hlo.fft"

    operand = operand_def(TENSOR)
    fft_type = prop_def(StringAttr)
    fft_length = prop_def(I64_ARRAY)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


LINEAR_OPS = (DotOp, ConvolutionOp, CholeskyOp, TriangularSolveOp, FftOp)
