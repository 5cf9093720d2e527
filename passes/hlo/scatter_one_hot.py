"""Rewrite scatters without computed addresses: comparisons find the updates of each element."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.decompositions.scatter_windows import (
    window_count,
    window_sizes,
    windows_of,
)
from neuronir.passes.hlo.scatter_updates import last_of_each, masked, windows_in_turn
from neuronir.passes.hlo.support.build import Emitter, reducer_opcode
from neuronir.passes.hlo.support.index_vectors import (
    component,
    groups_of,
    index_dims,
    row_distances,
)
from neuronir.passes.hlo.support.values import element, integer, ints, shape, tensor

LARGEST = 1 << 24
"""Limit of rows: fp32 must distinguish all row numbers."""
IN_TURN = 4
"""Up to this number of updates of each table, they are applied one after another."""

Sums = Callable[[Emitter, SSAValue, SSAValue], SSAValue]
"""Returns the sums of the updates [..., n, d] that each column of [..., n, m] selects."""


@dataclass(frozen=True)
class Table:
    """The operand of a scatter as rows: its dimensions by purpose.

    A row is all elements with the same position along `batch` and `moved`, which indices select.
    """

    batch: tuple[int, ...]
    moved: tuple[int, ...]
    rest: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """All dimensions, those of a row last."""
        return (*self.batch, *self.moved, *self.rest)


def table_of(op: Operation, windows: bool = False) -> Table | None:
    """Return the rows that a scatter updates; None if its windows are parts of rows, or of several
    rows and not `windows`.
    """
    operand = op.operands[0]
    batch, sizes, dims = ints(op, "input_batching_dims"), window_sizes(op), shape(operand)
    others = [d for d in range(len(dims)) if d not in batch]
    moved = tuple(d for d in others if sizes[d] != dims[d])
    rest = tuple(d for d in others if d not in moved)
    if prod(dims[d] for d in moved) > LARGEST:
        return None
    if not windows and any(sizes[d] != 1 for d in moved):
        return None
    return Table(batch, moved, rest) if prod(dims) and prod(shape(op.operands[2])) else None


def scatter_one_hot(op: Operation, sums: Sums, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter; None if it combines updates by several ops, or too many ones.

    Comparing the row number of each update with those of all rows gives ones at the rows that it
    changes. Dots with these ones add many updates. Of updates that overwrite, the last one of each
    row is looked up; others are masked by the ones and reduced. A few are applied one after
    another.
    """
    table = table_of(op, windows=True) if len(op.operands) == 3 else None
    if table is None:
        return None
    operand = op.operands[0]
    dims, opcode = shape(operand), reducer_opcode(op)
    if opcode is None and not _overwrites(op):
        return None
    several = any(window_sizes(op)[d] > 1 for d in table.moved)
    if several and not table.batch and window_count(op) <= IN_TURN:
        return windows_in_turn(op, table.moved, opcode, e)
    groups = groups_of(operand, table.batch)
    rows, width = (prod(dims[d] for d in part) for part in (table.moved, table.rest))
    numbers = _of_windows(op, table, row_numbers(op, table, e), e)
    count = shape(numbers)[-1]
    ones = (*groups, count, rows)
    hits = e.compare(
        e.broadcast(numbers, ones, range(len(ones) - 1)), e.iota(ones, len(ones) - 1, f32), "EQ"
    )
    old = e.reshape(e.transpose(operand, table.order), (*groups, rows, width))
    new = _rows_of_updates(op, table, (*groups, count, width), e)
    if count <= IN_TURN:
        found = _in_turn(e, old, hits, new, opcode)
    elif opcode is None:
        found = last_of_each(e, old, hits, new)
    elif opcode == "add" and is_float(element(operand)) and byte_size(element(operand)) <= 4:
        found = e.binary("add", e.convert(old, f32), sums(e, hits, e.convert(new, f32)))
        found = e.convert(found, element(operand))
    elif prod(ones) * width <= LARGEST:
        found = masked(e, old, hits, new, opcode)
    else:
        return None
    found = e.reshape(found, [dims[d] for d in table.order])
    return e.transpose(found, [table.order.index(d) for d in range(len(dims))])


def _overwrites(op: Operation) -> bool:
    """Return whether updates replace elements of the operand."""
    block = op.regions[0].block
    last = block.last_op
    return last is not None and tuple(last.operands) == (block.args[1],)


def row_numbers(op: Operation, table: Table, e: Emitter) -> SSAValue:
    """Return the row of each update in fp32, [count] or [groups, count]; -1 if it is dropped."""
    operand, indices, _ = op.operands
    dims, sizes = shape(operand), window_sizes(op)
    vector_dim, batch = integer(op, "index_vector_dim"), ints(op, "scatter_indices_batching_dims")
    starts = {
        d: e.convert(component(e, indices, vector_dim, k, batch), f32)
        for k, d in enumerate(ints(op, "scatter_dims_to_operand_dims"))
    }
    groups = groups_of(operand, table.batch)
    order = index_dims(indices, vector_dim, batch)
    count = prod(shape(indices)[d] for d in order) // prod(groups)
    numbers = e.fill(0, tensor((*groups, count), f32))
    for k, d in enumerate(table.moved):
        if k:
            numbers = e.binary_number("multiply", numbers, dims[d])
        if d in starts:
            numbers = e.binary("add", numbers, starts[d]) if k else starts[d]
    for d, start in starts.items():
        above = e.compare_number(start, 0, "GE")
        inside = e.binary("and", above, e.compare_number(start, dims[d] - sizes[d], "LE"))
        numbers = e.select(inside, numbers, e.fill_like(-1, numbers))
    return numbers


def _of_windows(op: Operation, table: Table, numbers: SSAValue, e: Emitter) -> SSAValue:
    """Return the row of each row of each window: [n], or [groups, n]; -1 if it is dropped."""
    sizes, dims = window_sizes(op), shape(op.operands[0])
    distances = row_distances(dims, sizes, table.moved)
    if len(distances) == 1:
        return numbers
    count = shape(numbers)
    wide = (*count, len(distances))
    within = e.broadcast(e.constant(np.array(distances, np.float32)), wide, [len(wide) - 1])
    first = e.broadcast(numbers, wide, range(len(count)))
    inside = e.compare_number(first, 0, "GE")
    found = e.select(inside, e.binary("add", first, within), first)
    return e.reshape(found, (*count[:-1], count[-1] * len(distances)))


def _rows_of_updates(op: Operation, table: Table, rows: tuple[int, ...], e: Emitter) -> SSAValue:
    """Return the updates as rows, [count, width] or [groups, count, width]."""
    windows, first = windows_of(op, e)
    gone = {*ints(op, "inserted_window_dims"), *table.batch}
    kept = [d for d in range(len(shape(op.operands[0]))) if d not in gone]
    order = [kept.index(d) for d in (*table.moved, *table.rest) if d in kept]
    places = [*range(first), *(first + k for k in order)]
    return e.reshape(e.transpose(windows, places), rows)


def _in_turn(
    e: Emitter, old: SSAValue, hits: SSAValue, new: SSAValue, opcode: str | None
) -> SSAValue:
    """Apply the updates of each table one after another; `opcode` None overwrites."""
    dims = shape(old)
    outer = len(dims) - 2
    for k in range(shape(new)[outer]):
        begin, end = [0] * outer + [k, 0], [*dims[:outer], k + 1]
        hit = e.slice(hits, begin, [*end, dims[outer]])
        row = e.slice(new, begin, [*end, dims[outer + 1]])
        where = e.broadcast(e.reshape(hit, dims[:-1]), dims, range(outer + 1))
        row = e.reshape(row, (*dims[:outer], dims[-1]))
        row = e.broadcast(row, dims, (*range(outer), outer + 1))
        old = e.select(where, row if opcode is None else e.binary(opcode, old, row), old)
    return old
