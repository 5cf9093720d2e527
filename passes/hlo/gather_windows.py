"""Number the rows of the windows of a gather, and take a few windows without numbers."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import (
    bounded,
    component,
    groups_of,
    index_dims,
    row_distances,
)
from neuronir.passes.hlo.support.shifts import sliced
from neuronir.passes.hlo.support.values import integer, ints, shape, tensor

FEW = 4
"""Up to this number of windows, each is selected from the table by itself."""


def row_numbers(op: Operation, moved: Sequence[int], kind: Attribute, e: Emitter) -> SSAValue:
    """Return the numbers of the rows that a gather reads, [n] or [groups, n], in a type.

    A row is all elements with the same position along the dimensions `moved`. A window of several
    rows has the number of its first one and constant distances from there.
    """
    dims, sizes = shape(op.operands[0]), ints(op, "slice_sizes")
    starts = _starts(op, moved, kind, e)
    count = shape(starts[0])
    numbers: SSAValue | None = None
    distances = row_distances(dims, sizes, moved)
    for start, d in zip(starts, moved, strict=True):
        if numbers is None:
            numbers = start
        else:
            numbers = e.binary("add", e.binary_number("multiply", numbers, dims[d]), start)
    assert numbers is not None
    if len(distances) == 1:
        return numbers
    wide = (*count, len(distances))
    within = e.broadcast(e.constant(np.array(distances, np_dtype(kind))), wide, [len(wide) - 1])
    numbers = e.binary("add", e.broadcast(numbers, wide, range(len(count))), within)
    return e.reshape(numbers, (*count[:-1], count[-1] * len(distances)))


def _starts(op: Operation, moved: Sequence[int], kind: Attribute, e: Emitter) -> list[SSAValue]:
    """Return the first position of all windows along each dimension, clamped: [n], [groups, n]."""
    table, indices = op.operands
    dims, sizes = shape(table), ints(op, "slice_sizes")
    start_map, batch = ints(op, "start_index_map"), ints(op, "start_indices_batching_dims")
    vector_dim = integer(op, "index_vector_dim")
    order = index_dims(indices, vector_dim, batch)
    groups = groups_of(indices, batch)
    count = prod(shape(indices)[d] for d in order) // prod(groups)
    found: list[SSAValue] = []
    for d in moved:
        if d in start_map:
            part = component(e, indices, vector_dim, start_map.index(d), batch)
            found.append(bounded(e, part, dims[d] - sizes[d], kind))
        else:
            found.append(e.fill(0, tensor((*groups, count), kind)))
    return found


def without_addresses(op: Operation, moved: Sequence[int], e: Emitter) -> SSAValue | None:
    """Return the windows of a gather that are whole tables, or few; None for others."""
    table, indices = op.operands
    batch = ints(op, "operand_batching_dims")
    sizes = ints(op, "slice_sizes")
    kept = [d for d in range(len(sizes)) if d not in batch]
    if not moved:
        order = index_dims(
            indices, integer(op, "index_vector_dim"), ints(op, "start_indices_batching_dims")
        )
        numbers = [shape(indices)[d] for d in order]
        places = [*range(len(batch)), *range(len(order), len(order) + len(kept))]
        found = e.transpose(table, (*batch, *kept))
        return in_order(
            op, e.broadcast(found, (*numbers, *(sizes[d] for d in kept)), places), kept, e
        )
    starts = _starts(op, moved, f32, e)
    count = shape(starts[0])[-1]
    if batch or count > FEW:
        return None
    windows: list[SSAValue] = []
    for k in range(count):
        window = table
        for d, start in sorted(
            zip(moved, starts, strict=True), key=lambda pair: sizes[pair[0]] / shape(table)[pair[0]]
        ):
            scalar = e.reshape(e.slice(start, [k], [k + 1]), ())
            window = sliced(e, window, d, scalar, sizes[d])
        windows.append(e.reshape(window, (1, *sizes)))
    return in_order(op, e.concatenate(windows, 0), kept, e)


def in_order(op: Operation, found: SSAValue, dims: Sequence[int], e: Emitter) -> SSAValue:
    """Return the result of a gather from its elements by (number of the window, `dims` of it)."""
    indices, sizes = op.operands[1], ints(op, "slice_sizes")
    batch = ints(op, "start_indices_batching_dims")
    order = index_dims(indices, integer(op, "index_vector_dim"), batch)
    collapsed = ints(op, "collapsed_slice_dims")
    kept = [d for d in dims if d not in collapsed]
    index_shape = (shape(indices)[d] for d in order)
    found = e.reshape(found, (*index_shape, *(sizes[d] for d in kept)))
    return e.transpose(found, _places(op, order, kept))


def _places(op: Operation, order: Sequence[int], kept: Sequence[int]) -> list[int]:
    """Return the permutation from (dimensions of the indices, kept dimensions) to the result."""
    offset = ints(op, "offset_dims")
    free = [d for d in range(len(order) + len(kept)) if d not in offset]
    targets = [
        *(free[sorted(order).index(d)] for d in order),
        *(offset[sorted(kept).index(d)] for d in kept),
    ]
    return [targets.index(d) for d in range(len(targets))]
