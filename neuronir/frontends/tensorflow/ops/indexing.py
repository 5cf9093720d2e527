"""Import gathers, scatters, segments, one-hot and top-k."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import BoolAttr, i32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_attr, tensor_type, tuple_type
from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.frontends.graph import indexing as I
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.reductions import axis_from, reduce
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.ops.sources import read
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.values import element, shape, tensor


@op("GatherV2", "Gather", "ResourceGather")
def gather(o: Op) -> SSAValue:
    """Gather slices along a dimension; indices out of range are clamped."""
    value = read(o, o.raw(0))
    if not isinstance(value, SSAValue):
        refuse("input 0 is not a tensor")
    I.need_indices(o[1])
    axis = axis_from(o.integer(2, "the axis"), len(shape(value))) if len(o) > 2 else None
    inner = len(o.dims(1))
    batch = o.int("batch_dims", 0)
    batch = batch + inner if batch < 0 else batch
    axis = batch if axis is None else axis
    if not 0 <= batch <= min(inner, axis) or shape(value)[:batch] != o.dims(1)[:batch]:
        refuse(f"batch_dims {batch} does not fit shapes {list(shape(value))}, {list(o.dims(1))}")
    return I.take(o.b, value, o[1], axis, batch)


@op("GatherNd", "ResourceGatherNd")
def gather_nd(o: Op) -> SSAValue:
    """Gather slices at index vectors."""
    value = read(o, o.raw(0))
    if not isinstance(value, SSAValue):
        refuse("input 0 is not a tensor")
    I.need_indices(o[1])
    _check_depth(o.dims(1), shape(value))
    return I.gather_nd(o.b, value, o[1])


def _check_depth(indices: Sequence[int], dims: Sequence[int]) -> None:
    if not indices or indices[-1] > len(dims):
        refuse(f"index vectors of shape {list(indices)} do not fit shape {list(dims)}")


@op("ScatterNd")
def scatter_nd(o: Op) -> SSAValue:
    """Add slices to zeros at index vectors."""
    dims = o.ints(2, "the shape")
    if any(n < 0 for n in dims):
        refuse(f"shape {list(dims)} has negative dimensions")
    I.need_indices(o[0])
    _check_depth(o.dims(0), dims)
    return I.scatter_nd(o.b, o.b.fill(0, tensor(dims, o.element(1))), o[0], o[1], "add")


@op(
    "TensorScatterUpdate",
    "TensorScatterAdd",
    "TensorScatterSub",
    "TensorScatterMax",
    "TensorScatterMin",
)
def tensor_scatter(o: Op) -> SSAValue:
    """Combine slices into the operand at index vectors."""
    b = o.b
    I.need_indices(o[1])
    _check_depth(o.dims(1), o.dims())
    updates = b.unary("negate", o[2]) if o.type == "TensorScatterSub" else o[2]
    opcodes = {"Add": "add", "Sub": "add", "Max": "maximum", "Min": "minimum"}
    combine = opcodes.get(o.type.removeprefix("TensorScatter"))
    return I.scatter_nd(b, o[0], o[1], updates, combine)


MOST_SEGMENTS = 1 << 20
_SEGMENTS = {"Sum": "add", "Max": "maximum", "Min": "minimum", "Prod": "multiply"}


@op("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
def unsorted_segments(o: Op) -> SSAValue:
    """Combine the elements of each segment; negative segment numbers are ignored."""
    count = o.integer(2, "the number of segments")
    return _segments(o, _SEGMENTS[o.type.removeprefix("UnsortedSegment")], count)


@op("SegmentSum", "SegmentMax", "SegmentMin", "SegmentProd")
def sorted_segments(o: Op) -> SSAValue:
    """Combine the elements of each segment; the known segment numbers determine the result size."""
    numbers = o.ints(1, "the segment numbers")
    opcode = _SEGMENTS[o.type.removeprefix("Segment")]
    count = max(numbers, default=-1) + 1
    if count > MOST_SEGMENTS:
        refuse(f"{count} segments are too many")
    result = _segments(o, opcode, count)
    missing = sorted(set(range(shape(result)[0])) - set(numbers))
    if missing and opcode in ("maximum", "minimum"):  # an empty segment is zero
        empty = np.isin(np.arange(shape(result)[0]), missing)
        mask = o.b.broadcast(o.b.constant(empty), shape(result), [0])
        result = o.b.select(mask, o.b.fill_like(0, result), result)
    return result


def _segments(o: Op, opcode: str, count: int) -> SSAValue:
    b, dims, numbers = o.b, o.dims(), o.dims(1)
    if count < 0 or dims[: len(numbers)] != numbers:
        refuse(f"segment indices of shape {list(numbers)} do not fit shape {list(dims)}")
    I.need_indices(o[1])
    if opcode in ("maximum", "minimum"):
        dtype = np_dtype(o.element())
        limits: Any = ml_dtypes.finfo if is_float(o.element()) else np.iinfo
        start = limits(dtype).min if opcode == "maximum" else limits(dtype).max
    else:
        neutral = neutral_element(opcode, o.element())
        assert neutral is not None
        start = neutral
    rest = dims[len(numbers) :]
    if opcode == "multiply":
        return _segment_products(o, count)
    whole = b.fill(start, tensor((count, *rest), o.element()))
    return I.scatter_nd(b, whole, b.reshape(o[1], (*numbers, 1)), o[0], opcode)


def _segment_products(o: Op, count: int) -> SSAValue:
    """Multiply the elements of each segment; elements of other segments are replaced by 1.

    The machine has no scatter that multiplies.
    """
    b, numbers = o.b, o.dims(1)
    inner = int(np.prod(numbers, dtype=np.int64))
    rest = o.dims()[len(numbers) :]
    values = b.reshape(o[0], (inner, *rest))
    dims = (count, inner, *rest)
    wide = along(b, values, dims, *range(1, len(dims)))
    number = along(b, b.reshape(o[1], (inner,)), dims, 1)
    own = b.compare(number, b.iota(dims, 0, o.element(1)), "EQ")
    return reduce(b, b.select(own, wide, b.fill_like(1, wide)), "multiply", [1])


@op("OneHot")
def one_hot(o: Op) -> SSAValue:
    """Insert a dimension with one value at the index and another elsewhere."""
    depth, places = o.integer(1, "the depth"), o.dims()
    if depth < 0:
        refuse(f"depth {depth} is negative")
    axis = o.int("axis", -1)
    axis = len(places) if axis == -1 else axis_from(axis, len(places) + 1)
    return I.one_hot(o.b, o[0], depth, axis, o.b.reshape(o[2], ()), o.b.reshape(o[3], ()))


@op("InvertPermutation")
def invert_permutation(o: Op) -> SSAValue:
    """Invert a permutation."""
    b = o.b
    if len(o.dims()) != 1:
        refuse("it takes a tensor of rank 1")
    I.need_indices(o[0])
    places = b.iota(o.dims(), 0, element(o[0]))
    return I.scatter_nd(b, b.fill_like(0, o[0]), b.reshape(o[0], (*o.dims(), 1)), places)


@op("TopKV2", "TopK", outputs="values indices")
def top_k(o: Op) -> list[SSAValue]:
    """Return the k largest values of the last dimension, and their indices."""
    b, dims = o.b, o.dims()
    k = o.integer(1, "k") if len(o) > 1 else o.int("k")
    if not dims or not 0 <= k <= dims[-1]:
        refuse(f"k {k} does not fit shape {list(dims)}")

    result = (*dims[:-1], k)
    both = b.emit(
        "topk",
        [o[0]],
        tuple_type([tensor_type(result, o.element()), tensor_type(result, i32)]),
        {"k": i64_attr(k), "largest": BoolAttr.from_bool(True)},
    )
    return [
        b.tuple_element(both, 0),
        b.convert(b.tuple_element(both, 1), o.dtype("index_type", "INT32")),
    ]
