"""Analyse the windows of a scatter, and read the elements that its updates modify."""

from math import prod

from xdsl.ir import Operation, Region, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import index_dims
from neuronir.passes.hlo.support.values import integer, ints, shape


def window_sizes(op: Operation) -> list[int]:
    """Return the window of a scatter along each dimension of the operand."""
    operand, _, updates = op.operands
    gone = {*ints(op, "inserted_window_dims"), *ints(op, "input_batching_dims")}
    sizes = [1] * len(shape(operand))
    kept = [d for d in range(len(sizes)) if d not in gone]
    for d, place in zip(kept, ints(op, "update_window_dims"), strict=True):
        sizes[d] = shape(updates)[place]
    return sizes


def batch_dims(op: Operation) -> list[int]:
    """Return the dimensions of the updates that number the windows."""
    window = ints(op, "update_window_dims")
    return [d for d in range(len(shape(op.operands[2]))) if d not in window]


def window_count(op: Operation) -> int:
    """Return the number of windows: an element gets at most this many updates."""
    updates = shape(op.operands[2])
    return prod(updates[d] for d in batch_dims(op))


def windows_of(op: Operation, e: Emitter) -> tuple[SSAValue, int]:
    """Return the updates with the dimensions of the indices first, and the number of these."""
    _, indices, updates = op.operands
    vector_dim, batch = integer(op, "index_vector_dim"), ints(op, "scatter_indices_batching_dims")
    order, places = index_dims(indices, vector_dim, batch), batch_dims(op)
    first = [places[sorted(order).index(d)] for d in order]
    window = sorted(ints(op, "update_window_dims"))
    return e.transpose(updates, [*first, *window]), len(first)


def elements_at(op: Operation, table: SSAValue, e: Emitter) -> SSAValue:
    """Gather the elements of `table` (shaped like the operand) at the positions of the updates.

    The result has the shape of the updates. Elements of windows that do not fit are undefined,
    because their updates are dropped.
    """
    return e.op(
        "gather",
        [table, op.operands[1]],
        offset_dims=ints(op, "update_window_dims"),
        collapsed_slice_dims=ints(op, "inserted_window_dims"),
        start_index_map=ints(op, "scatter_dims_to_operand_dims"),
        operand_batching_dims=ints(op, "input_batching_dims"),
        start_indices_batching_dims=ints(op, "scatter_indices_batching_dims"),
        index_vector_dim=integer(op, "index_vector_dim"),
        slice_sizes=window_sizes(op),
    )


def scattered(
    op: Operation, table: SSAValue, updates: SSAValue, region: Region, e: Emitter
) -> SSAValue:
    """Build the same scatter for other updates into another table, combined by `region`."""
    return e.emit("scatter", [table, op.operands[1], updates], table.type, op.properties, [region])
