"""Rewrite a scatter of windows that may overlap in part as one of their rows."""

from math import prod

from xdsl.dialects.builtin import BoolAttr, i1, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.support.dtypes import byte_size, is_unsigned
from neuronir.passes.hlo.decompositions.scatter_windows import window_sizes, windows_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import component
from neuronir.passes.hlo.support.values import element, integer, ints, shape, tensor

_MOST = 2**31 - 1


def rows_of_windows(op: Operation, e: Emitter) -> SSAValue | None:
    """Return a scatter with an index vector for each position of a window along the dimensions
    that it covers in part. None for scatters with a batch, and for those without such windows.

    Windows that do not fit are dropped as a whole: their rows have indices of -1.
    """
    operand, indices, updates = op.operands
    dims, sizes = shape(operand), window_sizes(op)
    mapped = ints(op, "scatter_dims_to_operand_dims")
    parts = [d for d in sorted(mapped) if sizes[d] not in (1, dims[d])]
    if ints(op, "input_batching_dims") or not parts or not prod(shape(updates)):
        return None
    vector_dim = integer(op, "index_vector_dim")
    starts = [_signed(component(e, indices, vector_dim, k, ()), e) for k in range(len(mapped))]
    (count,) = shape(starts[0])
    inside: SSAValue = e.fill(1, tensor((count,), i1))
    for d, start in zip(mapped, starts, strict=True):
        inside = e.binary("and", inside, e.compare_number(start, 0, "GE"))
        inside = e.binary("and", inside, e.compare_number(start, dims[d] - sizes[d], "LE"))
    rows = (count, *(sizes[d] for d in parts))
    fits = e.broadcast(inside, rows, [0])
    columns: list[SSAValue] = []
    for d, start in zip(mapped, starts, strict=True):
        place = e.broadcast(start, rows, [0])
        if d in parts:
            place = e.binary("add", place, e.iota(rows, 1 + parts.index(d), i32))
        columns.append(e.reshape(e.select(fits, place, e.fill_like(-1, place)), (*rows, 1)))
    windows, first = windows_of(op, e)
    gone = ints(op, "inserted_window_dims")
    kept = [d for d in range(len(dims)) if d not in gone]
    rest = [d for d in kept if d not in parts]
    order = [*range(first), *(first + kept.index(d) for d in (*parts, *rest))]
    flat = e.reshape(e.transpose(windows, order), (*rows, *(sizes[d] for d in rest)))
    properties = {
        **op.properties,
        "update_window_dims": i64_array(range(len(rows), len(rows) + len(rest))),
        "inserted_window_dims": i64_array(sorted((*gone, *parts))),
        "index_vector_dim": i64_attr(len(rows)),
        "indices_are_sorted": BoolAttr.from_bool(False),
        "unique_indices": BoolAttr.from_bool(False),
    }
    vectors = e.concatenate(columns, len(rows))
    regions = [op.regions[0].clone()]
    return e.emit("scatter", [operand, vectors, flat], op.results[0].type, properties, regions)


def _signed(numbers: SSAValue, e: Emitter) -> SSAValue:
    if is_unsigned(element(numbers)) and byte_size(element(numbers)) >= 4:
        numbers = e.binary_number("minimum", numbers, _MOST)
    return e.convert(numbers, i32)
