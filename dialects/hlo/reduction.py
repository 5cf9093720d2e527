"""Define ops that apply a region of scalars over dimensions."""

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, Pure

from neuronir.dialects.hlo.attributes import I64_ARRAY
from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import TENSOR, TENSOR_OR_TUPLE, TUPLE


@irdl_op_definition
class ReduceOp(HloOp):
    """Reduce the given dimensions with the region, in any order, starting from init_values.

    The region takes (accumulator..., element...) and returns the new accumulator. With several
    inputs, the accumulator and the result are tuples.
    """

    name = "hlo.reduce"

    inputs = var_operand_def(TENSOR)
    init_values = var_operand_def(TENSOR)
    dimensions = prop_def(I64_ARRAY)
    body = region_def("single_block")
    result = result_def(TENSOR_OR_TUPLE)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class ReduceWindowOp(HloOp):
    """Reduce each position of a sliding window; padding holds a (low, high) pair for each
    dimension.
    """

    name = "hlo.reduce_window"

    inputs = var_operand_def(TENSOR)
    init_values = var_operand_def(TENSOR)
    window_dimensions = prop_def(I64_ARRAY)
    window_strides = prop_def(I64_ARRAY)
    base_dilations = prop_def(I64_ARRAY)
    window_dilations = prop_def(I64_ARRAY)
    padding = prop_def(I64_ARRAY)
    body = region_def("single_block")
    result = result_def(TENSOR_OR_TUPLE)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class SelectAndScatterOp(HloOp):
    """Scatter each source element to the element of its window that select picks; scatter
    combines.
    """

    name = "hlo.select_and_scatter"

    operand = operand_def(TENSOR)
    source = operand_def(TENSOR)
    init_value = operand_def(TENSOR)
    window_dimensions = prop_def(I64_ARRAY)
    window_strides = prop_def(I64_ARRAY)
    padding = prop_def(I64_ARRAY)
    select = region_def("single_block")
    scatter = region_def("single_block")
    result = result_def(TENSOR)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class SortOp(HloOp):
    """Sort all inputs together along a dimension; the comparator takes (lhs0, rhs0, lhs1, ...)."""

    name = "hlo.sort"

    inputs = var_operand_def(TENSOR)
    dimension = prop_def(IntegerAttr[IntegerType])
    is_stable = prop_def(BoolAttr)
    comparator = region_def("single_block")
    result = result_def(TENSOR_OR_TUPLE)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class MapOp(HloOp):
    """Apply a region of scalars elementwise to the inputs."""

    name = "hlo.map"

    inputs = var_operand_def(TENSOR)
    dimensions = prop_def(I64_ARRAY)
    body = region_def("single_block")
    result = result_def(TENSOR)
    traits = traits_def(Pure(), IsolatedFromAbove())


@irdl_op_definition
class TopkOp(HloOp):
    """Return the k largest (or smallest) values of the last dimension and their indices, as a
    tuple.
    """

    name = "hlo.topk"

    operand = operand_def(TENSOR)
    k = prop_def(IntegerAttr[IntegerType])
    largest = prop_def(BoolAttr)
    result = result_def(TUPLE)
    traits = traits_def(Pure())


REDUCTION_OPS = (ReduceOp, ReduceWindowOp, SelectAndScatterOp, SortOp, MapOp, TopkOp)
