"""Make the outer dimensions of the table of a gather or scatter part of its indices."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import BoolAttr, IntegerType, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.decompositions.scatter_windows import batch_dims, window_sizes
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, shape, size, tensor

SHORT_ROW = 64
"""Bytes of a row from which a descriptor for each row is made."""
MOST_ROWS = 1 << 24
"""Limit of rows of a table, whose numbers are exact in fp32."""


def index_rows(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a gather along a dimension that is not the first as one of rows of a matrix:

        %r = gather(%x, %i)         ->      %n = iota * 50 + clamp(%i, 0, 49)
          x: 8x50x200, 30 indices           %r = gather(reshape(%x), %n)
                                              400x200, 8x30 indices

    Rows are whole and adjacent in both arrays, so no value is transposed.
    """
    table, indices = op.operands
    dims, mapped = shape(table), ints(op, "start_index_map")
    if ints(op, "operand_batching_dims") or size(op.results[0]) == 0:
        return None
    if not _has_rows(table, mapped, ints(op, "slice_sizes")):
        return None
    (axis,) = mapped
    outer, inner = prod(dims[:axis]), prod(dims[axis + 1 :])
    rows = e.emit(
        "gather",
        [
            e.reshape(table, (outer * dims[axis], inner)),
            _numbers(e, _clamped(e, indices, dims[axis]), outer, dims[axis]),
        ],
        tensor((outer * size(indices), inner), element(table)),
        {
            **op.properties,
            "offset_dims": i64_array([1]),
            "collapsed_slice_dims": i64_array([0]),
            "start_index_map": i64_array([0]),
            "index_vector_dim": i64_attr(1),
            "slice_sizes": i64_array([1, inner]),
        },
    )
    return _placed(e, op, rows, axis)


def index_updated_rows(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter along a dimension that is not the first as one of rows of a matrix, as
    `index_rows` does for gathers. Indices out of bounds become row numbers beyond the matrix.
    """
    if len(op.operands) != 3 or ints(op, "input_batching_dims"):
        return None
    table, indices, updates = op.operands
    dims, mapped = shape(table), ints(op, "scatter_dims_to_operand_dims")
    if size(updates) == 0 or not _has_rows(table, mapped, window_sizes(op)):
        return None
    (axis,) = mapped
    outer, inner = prod(dims[:axis]), prod(dims[axis + 1 :])
    window = ints(op, "update_window_dims")
    kept = [d for d in range(len(dims)) if d not in ints(op, "inserted_window_dims")]
    place = dict(zip(kept, window, strict=True))
    batch = batch_dims(op)
    order = [*(place[d] for d in range(axis)), *batch]
    order += [place[d] for d in range(axis, len(dims)) if d in place]
    inside = _within(e, indices, dims[axis], outer * dims[axis])
    rows = _numbers(e, inside, outer, dims[axis])
    found = e.emit(
        "scatter",
        [
            e.reshape(table, (outer * dims[axis], inner)),
            rows,
            e.reshape(e.transpose(updates, order), (outer * size(indices), inner)),
        ],
        tensor((outer * dims[axis], inner), element(table)),
        {
            **op.properties,
            "update_window_dims": i64_array([1]),
            "inserted_window_dims": i64_array([0]),
            "scatter_dims_to_operand_dims": i64_array([0]),
            "index_vector_dim": i64_attr(1),
            "indices_are_sorted": BoolAttr.from_bool(False),
        },
        [op.regions[0].clone()],
    )
    return e.reshape(found, dims)


def _has_rows(table: SSAValue, mapped: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether windows are whole along all dimensions but one, which an index chooses, and
    which stands between others.
    """
    dims = shape(table)
    if len(mapped) != 1:
        return False
    (axis,) = mapped
    if sizes[axis] != 1 or any(sizes[d] != n for d, n in enumerate(dims) if d != axis):
        return False
    outer = prod(dims[:axis])
    row = prod(dims[axis + 1 :]) * byte_size(element(table))
    return outer > 1 and outer * dims[axis] <= MOST_ROWS and row >= SHORT_ROW


def _numbers(e: Emitter, indices: SSAValue, outer: int, count: int) -> SSAValue:
    """Return the row numbers of indices below `count` in each of the outer positions, as a column
    vector.
    """
    sizes = (outer, size(indices))
    firsts = e.binary_number("multiply", e.iota(sizes, 0, i32), count)
    return e.reshape(e.binary("add", firsts, e.broadcast(indices, sizes, [1])), (prod(sizes), 1))


def _flat(e: Emitter, indices: SSAValue) -> SSAValue:
    """Return the indices as a vector, of at least 32 bits."""
    flat, type_ = e.reshape(indices, (size(indices),)), element(indices)
    narrow = isinstance(type_, IntegerType) and type_.width.data < i32.width.data
    return e.convert(flat, i32) if narrow else flat


def _clamped(e: Emitter, indices: SSAValue, limit: int) -> SSAValue:
    """Return the indices as a vector of i32 within 0 and `limit` - 1, as gather clamps them."""
    flat = e.binary_number("minimum", _flat(e, indices), limit - 1)
    return e.binary_number("maximum", e.convert(flat, i32), 0)


def _within(e: Emitter, indices: SSAValue, limit: int, beyond: int) -> SSAValue:
    """Return the indices as a vector of i32, `beyond` for all that are not within 0 and `limit` -
    1.
    """
    flat = e.convert(e.binary_number("minimum", _flat(e, indices), limit), i32)
    inside = e.binary("and", e.compare_number(flat, 0, "GE"), e.compare_number(flat, limit, "LT"))
    return e.select(inside, flat, e.fill_like(beyond, flat))


def _placed(e: Emitter, op: Operation, rows: SSAValue, axis: int) -> SSAValue:
    """Return rows of outer dimensions and indices with the dimensions of the gather's result."""
    dims, result = shape(op.operands[0]), shape(op.results[0])
    offset, collapsed = ints(op, "offset_dims"), ints(op, "collapsed_slice_dims")
    batch = [d for d in range(len(result)) if d not in offset]
    place = dict(zip((d for d in range(len(dims)) if d not in collapsed), offset, strict=True))
    kept = [place[axis]] if axis in place else []
    before = [place[d] for d in range(axis)]
    order = [*before, *batch, *kept, *(place[d] for d in range(axis + 1, len(dims)))]
    found = e.reshape(rows, [result[d] for d in order])
    return e.transpose(found, [order.index(d) for d in range(len(result))])
