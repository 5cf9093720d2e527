"""hlo-scatter-to-dot: add the updates of a scatter with dots instead of one after another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp, bf16, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import combiner
from neuronir.passes.hlo.gather_to_dot import digits
from neuronir.passes.hlo.scatter_one_hot import LARGEST, scatter_one_hot
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, is_splat_of, shape, tensor
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record

TERMS = 5
"""Dots of one sum: three digits of the values, and the places of both infinities."""
GAIN = 0.7
"""The estimated time must be below this share of that of the transfers."""


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

    The result is that of fp32: three bf16 parts of each update are added. Infinities and NaN reach
    only the rows to which they belong, by two more dots that mark their positions. Runs after
    hlo-auto-cast, which would round the updates.

    If the machine's transfers do not take addresses at run time, each scatter of whole rows is
    rewritten, even if that takes long: those that add by dots with `ones[v, n]`, and those with up
    to four updates of a table by selects, one after another. Runs before hlo-exact-integers then.
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


@dataclass(frozen=True)
class Rows:
    """A scatter of whole rows: `table` rows of `width` elements, and `count` updates.

    `unique`: no two updates have one row.
    """

    op: Operation
    table: int
    count: int
    width: int
    unique: bool

    @property
    def kind(self) -> Attribute:
        """The element type."""
        return element(self.op.results[0])


def scatter_to_dot(machine: Machine, op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter that adds rows; None if it is of another kind or already fast."""
    if not machine.gather_in_dma:
        return scatter_one_hot(op, _sums, e)
    rows = rows_of(op)
    if rows is None:
        return None
    one_hot, equal = one_hot_ns(rows, machine), equal_ns(rows, machine)
    if min(one_hot, equal) > GAIN * serial_ns(rows, machine):
        return None
    operand, indices, updates = op.operands
    numbers = e.convert(e.reshape(indices, (rows.count,)), f32)
    flat = _flat(e, updates, rows)
    empty = is_splat_of(operand, 0)
    if one_hot <= equal:
        dims = (rows.count, rows.table)
        hits = e.compare(e.broadcast(numbers, dims, (0,)), e.iota(dims, 1, f32), "EQ")
        terms = _sums(e, hits, flat)
        return e.reshape(_added(e, None if empty else operand, terms, rows), shape(operand))
    if rows.unique:
        terms = [flat]
    else:
        dims = (rows.count, rows.count)
        here, there = (e.broadcast(numbers, dims, (d,)) for d in (0, 1))
        terms = _sums(e, e.compare(here, there, "EQ"), flat)
    found = _added(e, None if empty else _gathered(e, rows), terms, rows)
    return _assigned(e, op, e.reshape(found, shape(updates)))


def rows_of(op: Operation) -> Rows | None:
    """Return the updates that a scatter adds to whole rows (the first dimension of its operand), or
    None.
    """
    if len(op.operands) != 3 or combiner(op) != "hlo.add" or not is_float(element(op.results[0])):
        return None
    operand, indices, updates = op.operands
    dims, rank = shape(operand), len(shape(updates))
    if ints(op, "inserted_window_dims") != (0,) or ints(op, "input_batching_dims"):
        return None
    if ints(op, "scatter_dims_to_operand_dims") != (0,) or not 0 < dims[0] < LARGEST:
        return None
    window = tuple(range(rank - len(dims) + 1, rank))
    if ints(op, "update_window_dims") != window or shape(updates)[rank - len(window) :] != dims[1:]:
        return None
    if integer(op, "index_vector_dim") < len(shape(indices)) - 1:
        return None
    width = prod(dims[1:])
    if not prod(shape(indices)) or not width or byte_size(element(operand)) > 4:
        return None
    unique = bool(cast(BoolAttr, op.properties["unique_indices"]))
    return Rows(op, dims[0], prod(shape(indices)), width, unique)


# estimates


def serial_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a transfer that adds rows one after another."""
    moved = 2 * rows.width * byte_size(rows.kind) / machine.dma_engine_gbps
    each = max(machine.dma_queue_descriptor_ns, moved)
    tiles = math.ceil(rows.count / machine.partitions)
    return rows.count * each + tiles * machine.dma_fixed_ns


def dot_ns(machine: Machine, out: int, depth: int, width: int) -> float:
    """Return the time of PE, and of DVE for the ones and zeros, of a dot [out, depth] x [width]."""
    blocks_ = math.ceil(out / machine.pe_columns) * math.ceil(depth / machine.pe_rows)
    start = machine.matmul_overhead_cycles + machine.pe_columns / machine.stationary_load_divisor
    banks = math.ceil(width / machine.matmul_max_moving)
    cycles = TERMS * (width + banks * start)
    compares = out * depth / machine.partitions / machine.dve_ghz
    return max(blocks_ * cycles / machine.pe_ghz, compares)


def one_hot_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a dot with the ones of each row of the table."""
    return dot_ns(machine, rows.table, rows.count, rows.width) + 4 * machine.dma_fixed_ns


def equal_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a dot with the ones of updates of the same row, a gather and a scatter."""
    moves = 1 if is_splat_of(rows.op.operands[0], 0) else 2
    each = max(
        machine.dma_software_descriptor_ns,
        rows.width * byte_size(rows.kind) / machine.dma_engine_gbps / machine.dma_engines,
    )
    start = (2 + moves) * machine.dma_fixed_ns
    dot = 0.0 if rows.unique else dot_ns(machine, rows.count, rows.count, rows.width)
    return dot + moves * rows.count * each + start


# the parts


def _sums(e: Emitter, hits: SSAValue, updates: SSAValue) -> list[SSAValue]:
    """Return terms of the sums of the rows of updates [n, d] that each column of `hits` [n, m]
    hits. Both may have a batch as their first dimension.

    An fp32 value is the sum of three in bf16, so that all terms share one matrix of ones. NaN is
    neither below nor above infinity: it becomes the sum of both infinities.
    """
    ones = e.convert(hits, bf16)
    below = e.compare_number(updates, math.inf, "LT")
    above = e.compare_number(updates, -math.inf, "GT")
    finite = e.binary("and", below, above)
    plain = e.select(finite, updates, e.fill_like(0.0, updates))
    terms = [_dot(e, ones, digit) for digit in digits(e, plain)]
    for inside, infinity in ((below, math.inf), (above, -math.inf)):
        places = _dot(e, ones, e.convert(e.unary("not", inside), bf16))
        some = e.compare_number(places, 0.0, "GT")
        terms.append(e.select(some, e.fill_like(infinity, places), e.fill_like(0.0, places)))
    return terms


def _dot(e: Emitter, ones: SSAValue, values: SSAValue) -> SSAValue:
    batch = tuple(range(len(shape(ones)) - 2))
    names = ("lhs_contracting_dims", "rhs_contracting_dims")
    properties = {name: i64_array([len(batch)]) for name in names}
    properties |= {name: i64_array(batch) for name in ("lhs_batch_dims", "rhs_batch_dims")}
    result = tensor((*shape(ones)[: len(batch)], shape(ones)[-1], shape(values)[-1]), f32)
    return e.emit("dot", [ones, values], result, properties)


def _added(e: Emitter, old: SSAValue | None, terms: Sequence[SSAValue], rows: Rows) -> SSAValue:
    """Return the sum of the terms [rows, width], and of old rows, in the type of the table."""
    first, *rest = terms if old is None else (_flat(e, old, rows), *terms)
    for term in rest:
        first = e.binary("add", first, term)
    return e.convert(first, rows.kind)


def _flat(e: Emitter, value: SSAValue, rows: Rows) -> SSAValue:
    """Return rows as a matrix in fp32."""
    count = prod(shape(value)) // rows.width
    return e.convert(e.reshape(value, (count, rows.width)), f32)


def _gathered(e: Emitter, rows: Rows) -> SSAValue:
    """Return the old rows of the updates."""
    table, indices, updates = rows.op.operands
    dims = shape(table)
    return e.op(
        "gather",
        [table, indices],
        offset_dims=ints(rows.op, "update_window_dims"),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=integer(rows.op, "index_vector_dim"),
        slice_sizes=(1, *dims[1:]),
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
