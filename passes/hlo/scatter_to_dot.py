"""hlo-scatter-to-dot: add the updates of a scatter with dots instead of one after another."""

from dataclasses import dataclass, field
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp, f32, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.row_sums import (
    TERMS,
    counted,
    one_hot_ns,
    ones_dot_ns,
    summed,
    sums_of,
)
from neuronir.passes.hlo.scatter_one_hot import row_numbers, scatter_one_hot, table_of
from neuronir.passes.hlo.scatter_rows import (
    GAIN,
    Rows,
    best_split,
    rows_of,
    serial_ns,
    split_ns,
)
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    ints,
    is_splat_of,
    shape,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class HloScatterToDotPass(ModulePass):
    """Rewrite scatters that add rows as dots, if that is faster or the machine has no other way.

    Updates of the same row must be added one after another, and a transfer does so for all updates.
    A dot with ones and zeros adds them at once: either `ones[v, n]`, where update `n` belongs to
    row `v`, or `ones[m, n]`, where updates `m` and `n` belong to the same row. With the second, all
    updates of a row become equal to their sum, and are written in any order:

        %r = scatter(%x, %i, %u) add   ->   %s = dot(compare(%i, %i) EQ, %u)
                                            %y = add(gather(%x, %i), %s)
                                            %r = scatter(%x, %i, %y) assign

    The result is that of fp32: the dot adds three bf16 parts of each update. Two more parts beside
    them mark the positions of infinities and NaN, so that these reach only their own rows. Equal
    updates are counted. If updates are narrow, ones for a quotient
    of `v` are multiplied with parts that are zero except at its remainder, which takes fewer
    comparisons. Runs after hlo-auto-cast, which would round the updates.

    If the machine's transfers do not take addresses at run time, each scatter is rewritten, even if
    that takes long: sums of floats become dots with `ones[v, n]`; of updates that overwrite, the
    last one of each row is looked up; others are masked by `ones[v, n]` and reduced; and up to four
    updates of a table become selects, one after another. Runs before hlo-exact-integers then.
    """

    name = "hlo-scatter-to-dot"
    target: str = field(default="trn1", metadata={"help": "machine whose costs are compared"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = get_machine(self.target)
        count = 0
        for block in tuple(blocks(op)):
            rule = partial(scatter_to_dot, machine)
            count += rewrite_block(block, {"hlo.scatter": (rule,)}, inner=False)
        record(self.name, "scatters rewritten", count)


def scatter_to_dot(machine: Machine, op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter that adds rows; None if it is of another kind or already fast."""
    if not machine.gather_in_dma:
        return scatter_one_hot(op, sums_of, e)
    rows = rows_of(op)
    if rows is None:
        return None
    one_hot, equal = sums_ns(rows, machine), equal_ns(rows, machine)
    others = min(
        GAIN * serial_ns(rows, machine), split_ns(rows, machine, best_split(rows, machine))
    )
    if min(one_hot, equal) > others:
        return None
    operand, _, updates = op.operands
    numbers, flat = _numbers(e, op, rows), _flat(e, updates, rows)
    empty = is_splat_of(operand, 0)
    if one_hot <= equal:
        number = splat(updates)
        if number is None:
            sums = summed(e, numbers, flat, rows.split(machine, TERMS * rows.width))
        else:
            sums = _multiples(e, counted(e, numbers, rows.split(machine, 1)), float(number), rows)
        return e.reshape(_added(e, None if empty else operand, sums, rows), shape(operand))
    if not rows.unique:
        dims = (rows.count, rows.count)
        single = e.convert(numbers, f32)
        here, there = (e.broadcast(single, dims, (d,)) for d in (0, 1))
        flat = sums_of(e, e.compare(here, there, "EQ"), flat)
    found = _added(e, None if empty else _gathered(e, rows), flat, rows)
    return _assigned(e, op, e.reshape(found, shape(updates)))


# estimates


def sums_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a dot with the ones of each row of the table."""
    columns = TERMS * rows.width if splat(rows.op.operands[2]) is None else 1
    time = one_hot_ns(machine, rows.split(machine, columns), rows.count, columns)
    return time + 4 * machine.dma_fixed_ns


def equal_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a dot with the ones of updates of the same row, a gather and a scatter."""
    moves = 1 if is_splat_of(rows.op.operands[0], 0) else 2
    each = max(
        machine.dma_software_descriptor_ns,
        rows.width * byte_size(rows.kind) / machine.dma_engine_gbps / machine.dma_engines,
    )
    start = (2 + moves) * machine.dma_fixed_ns
    dot = 0.0 if rows.unique else ones_dot_ns(machine, rows.count, rows.count, TERMS * rows.width)
    return dot + moves * rows.count * each + start


# the parts


def _numbers(e: Emitter, op: Operation, rows: Rows) -> SSAValue:
    """Return the row of each update, an integer [count]; others than those of rows are dropped."""
    table = table_of(op)
    if len(ints(op, "scatter_dims_to_operand_dims")) == 1 or table is None:
        return e.reshape(op.operands[1], (rows.count,))
    return e.convert(row_numbers(op, table, e), i32)


def _multiples(e: Emitter, counts: SSAValue, number: float, rows: Rows) -> SSAValue:
    """Return the sums [table, width] of `counts` [table, 1] times a number.

    The product is that of the exact count, where adding one after another rounds each time.
    """
    found = e.binary_number("multiply", counts, number)
    # No times is 0 for any number: neither NaN nor -0.
    found = e.select(e.compare_number(counts, 0.0, "GT"), found, e.fill_like(0.0, found))
    return e.broadcast(e.reshape(found, (rows.table,)), (rows.table, rows.width), (0,))


def _added(e: Emitter, old: SSAValue | None, sums: SSAValue, rows: Rows) -> SSAValue:
    """Return the sums [rows, width], and those with old rows, in the type of the table."""
    total = sums if old is None else e.binary("add", _flat(e, old, rows), sums)
    return e.convert(total, rows.kind)


def _flat(e: Emitter, value: SSAValue, rows: Rows) -> SSAValue:
    """Return rows as a matrix in fp32."""
    count = prod(shape(value)) // rows.width
    return e.convert(e.reshape(value, (count, rows.width)), f32)


def _gathered(e: Emitter, rows: Rows) -> SSAValue:
    """Return the old rows of the updates."""
    table, indices, updates = rows.op.operands
    dims, chosen = shape(table), ints(rows.op, "scatter_dims_to_operand_dims")
    return e.op(
        "gather",
        [table, indices],
        offset_dims=ints(rows.op, "update_window_dims"),
        collapsed_slice_dims=ints(rows.op, "inserted_window_dims"),
        start_index_map=chosen,
        index_vector_dim=integer(rows.op, "index_vector_dim"),
        slice_sizes=(*(1 for _ in chosen), *dims[len(chosen) :]),
    )


def _assigned(e: Emitter, op: Operation, found: SSAValue) -> SSAValue:
    """Return a scatter that overwrites rows; those of equal number are equal."""
    block = Block(arg_types=[tensor((), element(found))] * 2)
    block.add_op(OP_CLASSES["hlo.return"].create(operands=[block.args[1]]))
    properties = {**op.properties, "unique_indices": BoolAttr.from_bool(False)}
    return e.emit(
        "scatter",
        [op.operands[0], op.operands[1], found],
        op.results[0].type,
        properties,
        [Region(block)],
    )
