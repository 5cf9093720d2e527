"""What a scatter's windows are, and how to read the elements that its updates go to."""

from math import prod

from xdsl.ir import Operation, Region, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import integer, ints, shape


def window_sizes(op: Operation) -> list[int]:
    """The window along each dimension of the operand of a scatter."""
    operand, _, updates = op.operands
    gone = {*ints(op, "inserted_window_dims"), *ints(op, "input_batching_dims")}
    sizes = [1] * len(shape(operand))
    kept = [d for d in range(len(sizes)) if d not in gone]
    for d, place in zip(kept, ints(op, "update_window_dims"), strict=True):
        sizes[d] = shape(updates)[place]
    return sizes


def batch_dims(op: Operation) -> list[int]:
    """The dimensions of the updates that number the windows."""
    window = ints(op, "update_window_dims")
    return [d for d in range(len(shape(op.operands[2]))) if d not in window]


def window_count(op: Operation) -> int:
    """How many windows a scatter has: no element meets more updates."""
    updates = shape(op.operands[2])
    return prod(updates[d] for d in batch_dims(op))


def elements_at(op: Operation, table: SSAValue, e: Emitter) -> SSAValue:
    """The elements of `table`, of the operand's shape, where the updates of a scatter go, in the
    updates' shape. Those of windows that do not fit mean nothing: they are dropped."""
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
    """The same scatter of other updates into another table, combined by `region`."""
    return e.emit("scatter", [table, op.operands[1], updates], table.type, op.properties, [region])
