"""Operations that move, repeat or drop elements and compute nothing."""

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

NONE = i64_array(())
FALSE = BoolAttr.from_bool(False)


class MovementOp(HloOp):
    """A pure op on one tensor."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class BroadcastOp(MovementOp):
    """Operand dimension i becomes result dimension dimensions[i]; the others repeat it."""

    name = "hlo.broadcast"

    dimensions = prop_def(I64_ARRAY)


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in row-major order under another shape."""

    name = "hlo.reshape"


@irdl_op_definition
class BitcastOp(MovementOp):
    """The same bytes under another shape, layout or element type (optimised HLO only)."""

    name = "hlo.bitcast"


@irdl_op_definition
class TransposeOp(MovementOp):
    """Result dimension i is operand dimension permutation[i]."""

    name = "hlo.transpose"

    permutation = prop_def(I64_ARRAY)


@irdl_op_definition
class SliceOp(MovementOp):
    """Per dimension, the elements start, start + stride, ... below limit."""

    name = "hlo.slice"

    start_indices = prop_def(I64_ARRAY)
    limit_indices = prop_def(I64_ARRAY)
    strides = prop_def(I64_ARRAY)


@irdl_op_definition
class PadOp(HloOp):
    """Put padding_value at both edges (negative: drop elements) and between elements."""

    name = "hlo.pad"

    operand = operand_def()
    padding_value = operand_def()
    edge_padding_low = prop_def(I64_ARRAY)
    edge_padding_high = prop_def(I64_ARRAY)
    interior_padding = prop_def(I64_ARRAY)
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ConcatenateOp(HloOp):
    """The inputs one after the other along a dimension."""

    name = "hlo.concatenate"

    inputs = var_operand_def()
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ReverseOp(MovementOp):
    """The elements in opposite order along the given dimensions."""

    name = "hlo.reverse"

    dimensions = prop_def(I64_ARRAY)


@irdl_op_definition
class DynamicSliceOp(HloOp):
    """A block of static size at an offset known at run time, moved to lie inside the operand."""

    name = "hlo.dynamic_slice"

    operand = operand_def()
    start_indices = var_operand_def()
    slice_sizes = prop_def(I64_ARRAY)
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class DynamicUpdateSliceOp(HloOp):
    """The operand with a block at an offset known at run time replaced by update."""

    name = "hlo.dynamic_update_slice"

    operand = operand_def()
    update = operand_def()
    start_indices = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class GatherOp(HloOp):
    """Blocks of the operand at offsets given by start_indices."""

    name = "hlo.gather"

    operand = operand_def()
    start_indices = operand_def()
    offset_dims = prop_def(I64_ARRAY)
    collapsed_slice_dims = prop_def(I64_ARRAY)
    start_index_map = prop_def(I64_ARRAY)
    operand_batching_dims = prop_def(I64_ARRAY, NONE)
    start_indices_batching_dims = prop_def(I64_ARRAY, NONE)
    index_vector_dim = prop_def(IntegerAttr[IntegerType])
    slice_sizes = prop_def(I64_ARRAY)
    indices_are_sorted = prop_def(BoolAttr, FALSE)
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ScatterOp(HloOp):
    """The inputs with blocks of updates combined in, by the region, at offsets given by indices.

    The region takes (input element..., update element...) as scalars. Several inputs give a tuple.
    """

    name = "hlo.scatter"

    inputs = var_operand_def()
    indices = operand_def()
    updates = var_operand_def()
    update_window_dims = prop_def(I64_ARRAY)
    inserted_window_dims = prop_def(I64_ARRAY)
    scatter_dims_to_operand_dims = prop_def(I64_ARRAY)
    input_batching_dims = prop_def(I64_ARRAY, NONE)
    scatter_indices_batching_dims = prop_def(I64_ARRAY, NONE)
    index_vector_dim = prop_def(IntegerAttr[IntegerType])
    indices_are_sorted = prop_def(BoolAttr, FALSE)
    unique_indices = prop_def(BoolAttr, FALSE)
    body = region_def("single_block")
    result = result_def()
    irdl_options = (SameSize(),)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class GetDimensionSizeOp(MovementOp):
    """The size of one dimension, as s32[]."""

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
