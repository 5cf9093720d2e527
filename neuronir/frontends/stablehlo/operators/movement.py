"""Ops that move elements."""

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import operator


@operator("broadcast_in_dim")
def _broadcast_in_dim(c: Context) -> Sequence[SSAValue]:
    """Drop dimensions of size 1 with a reshape, because hlo does not broadcast them to another
    size.
    """
    c.need_operands(1)
    operand, shape, result = c.operands[0], c.shape(), c.result_type().get_shape()
    dims = c.integers("broadcast_dimensions")
    if len(dims) != len(shape) or len(set(dims)) != len(dims):
        c.fail(f"dims = {dims} do not name a dimension for each of {operand.type}")
    if any(not 0 <= d < len(result) for d in dims):
        c.fail(f"dims = {dims} are not dimensions of {c.result_type()}")
    order = sorted(range(len(dims)), key=dims.__getitem__)
    operand = c.b.transpose(operand, order)
    kept = [i for i in order if not (shape[i] == 1 and result[dims[i]] != 1)]
    if len(kept) < len(dims):
        operand = c.b.reshape(operand, [shape[i] for i in kept])
    dimensions = i64_array(dims[i] for i in kept)
    return c.emit("broadcast", {"dimensions": dimensions}, operands=[operand])


@operator("broadcast")
def _broadcast(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    first = len(c.integers("broadcast_sizes"))
    dimensions = i64_array(range(first, first + len(c.shape())))
    return c.emit("broadcast", {"dimensions": dimensions})


@operator("transpose")
def _transpose(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("transpose", {"permutation": i64_array(c.integers("permutation"))})


@operator("reverse")
def _reverse(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("reverse", {"dimensions": i64_array(c.integers("dimensions"))})


@operator("slice")
def _slice(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    names = ("start_indices", "limit_indices", "strides")
    return c.emit("slice", {name: i64_array(c.integers(name)) for name in names})


@operator("pad")
def _pad(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return c.emit("pad", {name: i64_array(c.integers(name)) for name in names})


@operator("concatenate")
def _concatenate(c: Context) -> Sequence[SSAValue]:
    return c.emit("concatenate", {"dimension": i64_attr(c.integer("dimension"))})


@operator("dynamic_slice")
def _dynamic_slice(c: Context) -> Sequence[SSAValue]:
    return c.emit("dynamic_slice", {"slice_sizes": i64_array(c.integers("slice_sizes"))})


@operator("dynamic_update_slice")
def _dynamic_update_slice(c: Context) -> Sequence[SSAValue]:
    return c.emit("dynamic_update_slice")


@operator("get_dimension_size")
def _get_dimension_size(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("get_dimension_size", {"dimension": i64_attr(c.integer("dimension"))})


def _numbers(c: Context, attribute: str, lists: str) -> dict[str, Attribute]:
    """Decode the dimension numbers of gather or scatter."""
    given = c.fields(attribute)
    found: dict[str, Attribute] = {name: c.field(given, name) for name in lists.split()}
    index = given.get("index_vector_dim", 0)
    if not isinstance(index, int) or abs(index) >= 1 << 63:
        c.fail("malformed value of 'index_vector_dim'")
    found["index_vector_dim"] = i64_attr(index)
    found["indices_are_sorted"] = BoolAttr.from_bool(c.flag("indices_are_sorted"))
    return found


@operator("gather")
def _gather(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    properties = _numbers(
        c,
        "dimension_numbers",
        "offset_dims collapsed_slice_dims start_index_map operand_batching_dims "
        "start_indices_batching_dims",
    )
    properties["slice_sizes"] = i64_array(c.integers("slice_sizes"))
    return c.emit("gather", properties)


@operator("scatter")
def _scatter(c: Context) -> Sequence[SSAValue]:
    properties = _numbers(
        c,
        "scatter_dimension_numbers",
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims "
        "input_batching_dims scatter_indices_batching_dims",
    )
    properties["unique_indices"] = BoolAttr.from_bool(c.flag("unique_indices"))
    return c.emit("scatter", properties, regions=[c.region(0)])
