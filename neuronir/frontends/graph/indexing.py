"""Build ops that read and write at indices: slices with any step, gathers, scatters, one-hot."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Block, Region, SSAValue

from neuronir.dialects.support.dtypes import is_integer, is_unsigned
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_to, need_one_type, select
from neuronir.frontends.graph.reductions import axis_from
from neuronir.passes.hlo.support.build import OP_CLASSES, binary_region
from neuronir.passes.hlo.support.values import element, shape, tensor


def strided_slice(
    b: BlockBuilder,
    value: SSAValue,
    starts: Sequence[int],
    limits: Sequence[int],
    steps: Sequence[int],
) -> SSAValue:
    """Slice start, start + step, ... before limit in each dimension.

    A step may be negative; limit -1 then includes the first element. Bounds must be within the
    dimension.
    """
    low, high, stride, backwards = [], [], [], []
    for d, (start, limit, step) in enumerate(zip(starts, limits, steps, strict=True)):
        count = max(0, -(-(limit - start) // step))
        if step < 0 and count:
            backwards.append(d)
            last = start + (count - 1) * step
            start, limit = last, start + 1
        low.append(start if count else 0)
        high.append(limit if count else 0)
        stride.append(abs(step))
    return b.reverse(b.slice(value, low, high, stride), backwards)


def joined(b: BlockBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Concatenate values along an axis, which may be negative (counted from the end)."""
    need_one_type(*values)
    ranks = sorted({len(shape(value)) for value in values})
    if len(ranks) > 1:
        refuse(f"values of ranks {ranks} cannot be joined")
    return b.concatenate(values, axis_from(axis, ranks[0]))


def from_start(b: BlockBuilder, indices: SSAValue, size: int) -> SSAValue:
    """Convert negative indices, which count from the end, to indices from the start."""
    known = b.known(indices)
    if is_unsigned(element(indices)) or (
        known is not None and bool((known.astype(np.int64) >= 0).all())
    ):
        return indices
    wrapped = b.binary_number("add", indices, size)
    return b.select(b.compare_number(indices, 0, "LT"), wrapped, indices)


def take(
    b: BlockBuilder, value: SSAValue, indices: SSAValue, axis: int, batch: int = 0
) -> SSAValue:
    """Gather value[..., indices, ...] at an axis, which the dimensions of the indices replace.

    The first `batch` dimensions of both operands are batch dimensions. Indices count from the
    start; an index out of range is clamped.
    """
    dims, places = shape(value), shape(indices)
    known = b.known(indices)
    if known is not None and batch == 0 and (part := _run(known.reshape(-1), dims[axis])):
        start, count = part
        low, high = [0] * len(dims), list(dims)
        low[axis], high[axis] = start, start + count
        part_value = b.slice(value, low, high)
        return b.reshape(part_value, (*dims[:axis], *places, *dims[axis + 1 :]))
    before = list(range(batch, axis))
    after = range(axis + 1, len(dims))
    inner = len(places) - batch
    # Result: batch, dimensions before the axis, dimensions of the indices, dimensions after the
    # axis.
    offsets = [d for d in before] + [d - 1 + inner for d in after]
    sizes = list(dims)
    for d in (*range(batch), axis):
        sizes[d] = 1
    return b.op(
        "gather",
        [value, indices],
        offset_dims=offsets,
        collapsed_slice_dims=[axis],
        start_index_map=[axis],
        operand_batching_dims=range(batch),
        start_indices_batching_dims=range(batch),
        index_vector_dim=len(places),
        slice_sizes=sizes,
    )


def _run(
    known: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", size: int
) -> tuple[int, int] | None:
    """Return (start, count) of known indices that increase by one within the dimension."""
    if known.size == 0:
        return None
    start = int(known[0])
    if not 0 <= start <= size - known.size:
        return None
    return (
        (start, known.size) if bool((known == np.arange(start, start + known.size)).all()) else None
    )


def gather_elements(b: BlockBuilder, value: SSAValue, indices: SSAValue, axis: int) -> SSAValue:
    """Compute result[i, j ...] = value[i, j, indices[i, j ...] at the axis].

    The other dimensions of the indices are at most those of the value.
    """
    dims, places = shape(value), shape(indices)
    limits = [n if d == axis else places[d] for d, n in enumerate(dims)]
    value = b.slice(value, [0] * len(dims), limits)
    rest = [d for d in range(len(dims)) if d != axis]
    return b.op(
        "gather",
        [value, indices],
        offset_dims=[],
        collapsed_slice_dims=[axis],
        start_index_map=[axis],
        operand_batching_dims=rest,
        start_indices_batching_dims=rest,
        index_vector_dim=len(places),
        slice_sizes=[1] * len(dims),
    )


def need_depth(places: Sequence[int], dims: int) -> int:
    """Return the length of the index vectors in the last dimension, at most `dims`."""
    if not places or places[-1] > dims:
        refuse(f"indices of shape {list(places)} do not fit {dims} dimensions")
    return places[-1]


def gather_nd(b: BlockBuilder, value: SSAValue, indices: SSAValue, batch: int = 0) -> SSAValue:
    """Gather the slices of value at the index vectors in the last dimension of indices.

    The first `batch` dimensions of both operands are batch dimensions.
    """
    dims, places = shape(value), shape(indices)
    if not 0 <= batch < min(len(dims), len(places)):
        refuse(f"{batch} dimensions cannot be walked together")
    depth = need_depth(places, len(dims) - batch)
    indexed = list(range(batch, batch + depth))
    rest = range(batch + depth, len(dims))
    return b.op(
        "gather",
        [value, indices],
        offset_dims=[len(places) - 1 + i for i in range(len(rest))],
        collapsed_slice_dims=indexed,
        start_index_map=indexed,
        operand_batching_dims=range(batch),
        start_indices_batching_dims=range(batch),
        index_vector_dim=len(places) - 1,
        slice_sizes=[1 if d < batch + depth else n for d, n in enumerate(dims)],
    )


COMBINE = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
"""Names of scatter combiners, with their opcodes."""


def _combiner(combine: str | None, element_type: Attribute) -> Region:
    """Build the region of a scatter: overwrite (None) or combine with an opcode."""
    if combine is not None:
        return binary_region(combine, element_type)
    scalar = tensor((), element_type)
    block = Block(arg_types=[scalar, scalar])
    block.add_op(OP_CLASSES["hlo.return"].create(operands=[block.args[1]]))
    return Region(block)


def scatter_elements(
    b: BlockBuilder,
    value: SSAValue,
    indices: SSAValue,
    updates: SSAValue,
    axis: int,
    combine: str | None = None,
) -> SSAValue:
    """Scatter updates[i, j ...] to [i, j, indices[i, j ...] at the axis] of value.

    The opcode combines; without one, the last update in row-major order overwrites the element.
    """
    places = shape(indices)
    full = [
        indices if d == axis else b.iota(places, d, element(indices)) for d in range(len(places))
    ]
    vectors = b.concatenate([b.reshape(v, (*places, 1)) for v in full], len(places))
    return scatter_nd(b, value, vectors, updates, combine)


def scatter_nd(
    b: BlockBuilder,
    value: SSAValue,
    indices: SSAValue,
    updates: SSAValue,
    combine: str | None = None,
) -> SSAValue:
    """Scatter slices `updates` at the index vectors in the last dimension of indices.

    Updates that are not entirely in range are dropped.
    """
    places = shape(indices)
    depth = need_depth(places, len(shape(value)))
    outer = len(places) - 1
    return b.op(
        "scatter",
        [value, indices, updates],
        [_combiner(combine, element(value))],
        update_window_dims=range(outer, len(shape(updates))),
        inserted_window_dims=range(depth),
        scatter_dims_to_operand_dims=range(depth),
        index_vector_dim=outer,
    )


def one_hot(
    b: BlockBuilder,
    indices: SSAValue,
    depth: int,
    axis: int,
    on: SSAValue,
    off: SSAValue,
) -> SSAValue:
    """Insert a dimension of size depth at `axis` that holds `on` at the index and `off` elsewhere.

    `on` and `off` are scalars. An index out of range gives only `off`.
    """
    places = shape(indices)
    dims = (*places[:axis], depth, *places[axis:])
    spread = along(b, indices, dims, *(d for d in range(len(dims)) if d != axis))
    found = b.compare(spread, b.iota(dims, axis, element(indices)), "EQ")
    return select(b, found, on, off)


def triangle(b: BlockBuilder, dims: Sequence[int], offset: int, *, upper: bool) -> SSAValue:
    """Build a mask of the elements on and above (or below) the diagonal of the last two dimensions.

    `offset` moves the diagonal to the right.
    """
    rows, columns = dims[-2:]
    row = b.binary_number("add", b.iota((rows, columns), 0, i32), offset)
    column = b.iota((rows, columns), 1, i32)
    return broadcast_to(b, b.compare(column, row, "GE" if upper else "LE"), dims)


def dynamic_slice(
    b: BlockBuilder, value: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int]
) -> SSAValue:
    """Take a block of static size at runtime scalar offsets, clamped so that it fits."""
    return b.op("dynamic_slice", [value, *starts], slice_sizes=sizes)


def need_indices(value: SSAValue) -> None:
    """Check that indices are integers (NIR_IMP001)."""
    if element(value) == i1 or not is_integer(element(value)):
        refuse(f"indices must be integers, are {element(value)}")
