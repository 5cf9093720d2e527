"""Decompose scatters whose combiner DMA does not support: first combine updates per element."""

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.support.dtypes import is_pred
from neuronir.passes.hlo.decompositions.scatter_integers import integer_scatter
from neuronir.passes.hlo.decompositions.scatter_rows_of_windows import rows_of_windows
from neuronir.passes.hlo.decompositions.scatter_windows import (
    batch_dims,
    elements_at,
    scattered,
    window_count,
    window_sizes,
)
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import (
    OP_CLASSES,
    Emitter,
    binary_region,
    reducer_opcode,
)
from neuronir.passes.hlo.support.values import element, integer, ints, shape, size, tensor
from neuronir.passes.hlo.support.walk import Rule

_NATIVE = ("add", "maximum", "minimum")
_BOOLEAN = {"add": "maximum", "or": "maximum", "multiply": "minimum", "and": "minimum"}
"""The equivalent native combiner for booleans."""
_LARGEST = 1 << 24
"""Limit of elements of the comparison of all updates with each other."""


def scatter(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter that multiplies (or applies and, or, xor) as one that overwrites.

    Each update is replaced by the combination of all updates of the same element (their indices are
    compared in pairs) with the old value, which a gather reads. All updates of an element thus
    write the same value. Windows that do not cover an indexed dimension become rows, because they
    might overlap partially. Sums of integers, and maxima and minima of wide ones, are
    composed of exact parts (scatter_integers.py).
    """
    opcode = reducer_opcode(op)
    if opcode is None or len(op.operands) != 3:
        return None
    operand, indices, updates = op.operands
    if is_pred(element(operand)) and opcode in _BOOLEAN:
        return scattered(op, operand, updates, binary_region(_BOOLEAN[opcode], i1), e)
    if opcode in _NATIVE:
        return integer_scatter(op, opcode, e)
    neutral = neutral_element(opcode, element(operand))
    window, sizes = ints(op, "update_window_dims"), window_sizes(op)
    moved = ints(op, "scatter_dims_to_operand_dims")
    if neutral is None:
        return None
    if any(sizes[d] not in (1, shape(operand)[d]) for d in moved):
        return rows_of_windows(op, e)
    batch, count = batch_dims(op), window_count(op)
    if not count or count * size(updates) > _LARGEST:
        return None
    same = _same_place(op, indices, count, e)
    order = [*batch, *window]
    rows = e.transpose(updates, order)
    width = size(updates) // count
    flat = e.reshape(rows, (count, width))
    pairs = (count, count, width)
    own = e.select(
        e.broadcast(same, pairs, [0, 1]),
        e.broadcast(flat, pairs, [1, 2]),
        e.fill(neutral, tensor(pairs, element(updates))),
    )
    together = e.reshape(e.reduce(own, neutral, [1], opcode), shape(rows))
    together = e.transpose(together, [order.index(d) for d in range(len(order))])
    found = elements_at(op, operand, e)
    scalar = tensor((), element(operand))
    block = Block(arg_types=[scalar, scalar])
    block.add_op(OP_CLASSES["hlo.return"].create(operands=[block.args[1]]))
    return scattered(op, operand, e.binary(opcode, found, together), Region(block), e)


def _same_place(op: Operation, indices: SSAValue, count: int, e: Emitter) -> SSAValue:
    """Return which pairs of updates have the same index vector: pred [count, count]."""
    vector = integer(op, "index_vector_dim")
    dims = shape(indices)
    if vector == len(dims):
        indices = e.reshape(indices, (*dims, 1))
        dims = shape(indices)
    order = [*(d for d in range(len(dims)) if d != vector), vector]
    whole = e.transpose(indices, order)
    flat = e.reshape(whole, (count, dims[vector]))
    columns = [
        e.reshape(e.slice(flat, [0, k], [count, k + 1]), (count,)) for k in range(dims[vector])
    ]
    # Updates of different batches never coincide.
    for d in ints(op, "scatter_indices_batching_dims"):
        place = e.iota([dims[k] for k in order[:-1]], order.index(d), i32)
        columns.append(e.reshape(place, (count,)))
    same: SSAValue | None = None
    for column in columns:
        one, other = (e.broadcast(column, (count, count), [side]) for side in (0, 1))
        equal = e.compare(one, other, "EQ")
        same = equal if same is None else e.binary("and", same, equal)
    return e.fill(1, tensor((count, count), i1)) if same is None else same


RULES: dict[str, Rule] = {"scatter": scatter}
