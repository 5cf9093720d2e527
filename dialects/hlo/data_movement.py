"""Define ops that move, repeat or drop elements without computing."""

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType
from xdsl.irdl import SameVariadicOperandSize as SameSize
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, Pure

from neuronir.dialects.hlo.attributes import I64_ARRAY, i64_array
from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import INTEGER_TENSOR, TENSOR, TENSOR_OR_TUPLE

NONE = i64_array(())
FALSE = BoolAttr.from_bool(False)


class MovementOp(HloOp):
    """A pure op on one tensor."""

    operand = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class BroadcastOp(MovementOp):
    """Map operand dimension i to result dimension dimensions[i], and repeat along the others."""

    name = "hlo.broadcast"

    dimensions = prop_def(I64_ARRAY)


@irdl_op_definition
class ReshapeOp(MovementOp):
    """Change the shape and keep the elements in row-major order."""

    name = "hlo.reshape"


@irdl_op_definition
class BitcastOp(MovementOp):
    """Reinterpret the bytes with another shape, layout or element type (optimised HLO only)."""

    name = "hlo.bitcast"


@irdl_op_definition
class TransposeOp(MovementOp):
    """Permute the dimensions: result dimension i is operand dimension permutation[i]."""

    name = "hlo.transpose"

    permutation = prop_def(I64_ARRAY)


@irdl_op_definition
class SliceOp(MovementOp):
    """Take the elements start, start + stride, ... below limit of each dimension."""

    name = "hlo.slice"

    start_indices = prop_def(I64_ARRAY)
    limit_indices = prop_def(I64_ARRAY)
    strides = prop_def(I64_ARRAY)


@irdl_op_definition
class PadOp(HloOp):
    """Add padding_value at both edges (a negative amount drops elements) and between elements."""

    name = "hlo.pad"

    operand = operand_def(TENSOR)
    padding_value = operand_def(TENSOR)
    edge_padding_low = prop_def(I64_ARRAY)
    edge_padding_high = prop_def(I64_ARRAY)
    interior_padding = prop_def(I64_ARRAY)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class ConcatenateOp(HloOp):
    """Concatenate the inputs along a dimension."""

    name = "hlo.concatenate"

    inputs = var_operand_def(TENSOR)
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class ReverseOp(MovementOp):
    """Reverse the order of the elements along the given dimensions."""

    name = "hlo.reverse"

    dimensions = prop_def(I64_ARRAY)


@irdl_op_definition
class DynamicSliceOp(HloOp):
    """Take a block of static size at a runtime offset, which is clamped so that the block fits."""

    name = "hlo.dynamic_slice"

    operand = operand_def(TENSOR)
    start_indices = var_operand_def(INTEGER_TENSOR)
    slice_sizes = prop_def(I64_ARRAY)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class DynamicUpdateSliceOp(HloOp):
    """Replace a block of the operand at a runtime offset with update."""

    name = "hlo.dynamic_update_slice"

    operand = operand_def(TENSOR)
    update = operand_def(TENSOR)
    start_indices = var_operand_def(INTEGER_TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class GatherOp(HloOp):
    """Take blocks of the operand at the offsets in start_indices."""

    name = "hlo.gather"

    operand = operand_def(TENSOR)
    start_indices = operand_def(INTEGER_TENSOR)
    offset_dims = prop_def(I64_ARRAY)
    collapsed_slice_dims = prop_def(I64_ARRAY)
    start_index_map = prop_def(I64_ARRAY)
    operand_batching_dims = prop_def(I64_ARRAY, NONE)
    start_indices_batching_dims = prop_def(I64_ARRAY, NONE)
    index_vector_dim = prop_def(IntegerAttr[IntegerType])
    slice_sizes = prop_def(I64_ARRAY)
    indices_are_sorted = prop_def(BoolAttr, FALSE)
    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class ScatterOp(HloOp):
    """Combine blocks of updates into the inputs, with the region, at the offsets in indices.

    The region takes (input element..., update element...) as scalars. With several inputs the
    result is a tuple.
    """

    name = "hlo.scatter"

    inputs = var_operand_def(TENSOR)
    indices = operand_def(INTEGER_TENSOR)
    updates = var_operand_def(TENSOR)
    update_window_dims = prop_def(I64_ARRAY)
    inserted_window_dims = prop_def(I64_ARRAY)
    scatter_dims_to_operand_dims = prop_def(I64_ARRAY)
    input_batching_dims = prop_def(I64_ARRAY, NONE)
    scatter_indices_batching_dims = prop_def(I64_ARRAY, NONE)
    index_vector_dim = prop_def(IntegerAttr[IntegerType])
    indices_are_sorted = prop_def(BoolAttr, FALSE)
    unique_indices = prop_def(BoolAttr, FALSE)
    body = region_def("single_block")
    result = result_def(TENSOR_OR_TUPLE)
    irdl_options = (SameSize(),)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class GetDimensionSizeOp(MovementOp):
    """Return the size of one dimension as s32[]."""

    name = "hlo.get_dimension_size"

    dimension = prop_def(IntegerAttr[IntegerType])


DATA_MOVEMENT_OPS = (
    BroadcastOp,
    ReshapeOp,
    BitcastOp,
    TransposeOp,
    SliceOp,
    PadOp,
    ConcatenateOp,
    ReverseOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    ScatterOp,
    GetDimensionSizeOp,
)
