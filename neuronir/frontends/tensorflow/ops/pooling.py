"""Import pooling."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import convolution as C
from neuronir.frontends.graph import pooling as W
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.ops.convolution import FORMATS, Window, spatial_of
from neuronir.frontends.tensorflow.registry import op


def _window(
    o: Op, sizes: Sequence[int] | None = None, strides: Sequence[int] | None = None
) -> tuple[C.Layout, dict[str, Sequence[int]], list[tuple[int, int]]]:
    """Return the layout, window and strides as keywords, and the padding."""
    dims = o.dims()
    text = o.text("data_format", "NHWC" if len(dims) == 4 else "NDHWC")
    if text not in FORMATS or len(text) != len(dims):
        refuse(f"the data format '{text}' does not fit a tensor of rank {len(dims)}")
    layout = C.layout(text)
    size = spatial_of(o.int_list("ksize") if sizes is None else sizes, layout, "ksize")
    steps = spatial_of(o.int_list("strides") if strides is None else strides, layout, "strides")
    padding = Window(layout, steps, (1,) * len(size)).padding(o, dims, size)
    return layout, {"window": size, "strides": steps}, padding


@op("MaxPool", "MaxPool3D")
def max_pool(o: Op) -> SSAValue:
    """Return the largest element of each window."""
    layout, sizes, padding = _window(o)
    return W.max_pool(o.b, o[0], layout, padding=padding, **sizes)


@op("MaxPoolV2")
def max_pool_v2(o: Op) -> SSAValue:
    """Return the largest element of each window, whose size and strides are operands."""
    layout, sizes, padding = _window(o, o.ints(1, "ksize"), o.ints(2, "strides"))
    return W.max_pool(o.b, o[0], layout, padding=padding, **sizes)


@op("AvgPool", "AvgPool3D")
def average_pool(o: Op) -> SSAValue:
    """Return the mean of each window; padding is not counted."""
    layout, sizes, padding = _window(o)
    window, strides = sizes["window"], sizes["strides"]
    return W.average_pool(o.b, o[0], layout, window=window, strides=strides, padding=padding)


@op("MaxPoolWithArgmax", outputs="output argmax")
def max_pool_with_argmax(o: Op) -> list[SSAValue]:
    """Return the largest element of each window and its position.

    The position counts over height, width and features, and over the batch if the node says so.
    """
    b, dims = o.b, o.dims()
    layout, sizes, padding = _window(o)
    values = W.max_pool(b, o[0], layout, padding=padding, **sizes)
    counted = dims if o.bool("include_batch_in_index", False) else (1, *dims[1:])
    count = 1
    for n in counted:
        count *= n
    if count >= 1 << 31:
        refuse(f"{count} positions are too many to be counted")
    numbers = b.reshape(b.iota((count,), 0, i32), counted)
    if counted != dims:
        numbers = b.broadcast(b.reshape(numbers, dims[1:]), dims, range(1, len(dims)))
    places = W.max_pool_indices(b, o[0], layout, numbers, padding=padding, **sizes)
    return [values, b.convert(places, o.dtype("Targmax", "INT64"))]
