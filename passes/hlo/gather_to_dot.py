"""hlo-gather-to-dot: rewrite table lookups as dots, where a machine has no faster way."""

import math
from dataclasses import dataclass, field
from functools import partial, reduce
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, bf16, f32, i1, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.gather_windows import in_order, row_numbers, without_addresses
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import groups_of
from neuronir.passes.hlo.support.values import constant, element, ints, shape, size, tensor
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record

_LARGEST_TABLE = 1 << 24
"""Limit of rows: float32 must distinguish all row numbers."""
_TOP_BITS = -65536
"""The bits of a float32 value that bfloat16 holds.

Digits are truncated, because the largest values would round to infinity.
"""
_GAIN = 0.7
"""The estimated time of dots must be below this share of that of the descriptors."""
_SPECIAL = 4
"""The values that are selected by their codes: both infinities, NaN and -0."""


@dataclass(frozen=True)
class HloGatherToDotPass(ModulePass):
    """Rewrite gathers of rows as dots with one-hot rows.

    Without options, all gathers are rewritten, for machines without indirect addressing in
    transfers. With `target`, only those that the machine computes faster than it makes a descriptor
    for each index: many indices into a table of floats with few, narrow rows, such as the relative
    position bias of T5. An fp32 table takes one dot in fp32 then, which must not be cast: the pass
    runs after hlo-auto-cast. Rows of one element stay, which POOL gathers within SBUF.

    Comparing an index with all row indices gives a one-hot row, which the tensor engine multiplies
    by the table. The result is exact: without `target`, an fp32 table is the sum of three bf16
    tables (8 bits of the significand each, down to 2^-133), and each sum has one nonzero term.
    Indices are clamped as in HLO. Infinities, NaN and -0 are selected by a second dot on their
    codes; a constant table without such values needs one dot. Gathers with a batch become dots with
    a batch, or, if each table gives one row, a select and a maximum. With `target`, a gather must
    have one index position for each row and take all other dimensions completely. Without, each
    element of a window along an indexed dimension is a row, and a few windows are selected from
    the table in steps (hlo-select-slices).
    """

    name = "hlo-gather-to-dot"
    target: str = field(
        default="",
        metadata={
            "help": "machine whose costs are compared; without it, all gathers are rewritten"
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = get_machine(self.target) if self.target else None
        count = 0
        for block in tuple(blocks(op)):
            rule = partial(gather_to_dot, machine)
            count += rewrite_block(block, {"hlo.gather": (rule,)}, inner=False)
        record(self.name, "gathers rewritten", count)


def gather_to_dot(machine: Machine | None, op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a gather of rows, or of any windows if there is no machine with a better way.

    With a machine, only if that is faster there.
    """
    table, indices = op.operands
    dims, sizes = shape(table), ints(op, "slice_sizes")
    if 0 in dims:
        return e.fill(0, op.results[0].type)
    start_map, batch = ints(op, "start_index_map"), ints(op, "operand_batching_dims")
    moved = [d for d in range(len(dims)) if sizes[d] != dims[d] and d not in batch]
    rows = prod(dims[d] for d in moved)
    single = all(sizes[d] == 1 and d in start_map for d in moved)
    if rows > _LARGEST_TABLE or size(op.results[0]) == 0:
        return None
    if machine is None and not (moved and single):
        found = without_addresses(op, moved, e)
        if found is not None:
            return found
    elif not moved or not single:
        return None
    if machine is not None and (batch or not _is_faster(machine, op, rows)):
        return None
    numbers = row_numbers(op, moved, f32 if machine is None else i32, e)
    rest = [d for d in range(len(dims)) if d not in moved and d not in batch]
    groups = groups_of(table, batch)
    matrix = e.transpose(table, (*batch, *moved, *rest))
    matrix = e.reshape(matrix, (*groups, rows, prod(dims[d] for d in rest)))
    found = looked_up(e, matrix, numbers, machine is not None)
    return e.convert(in_order(op, found, [*moved, *rest], e), element(table))


def looked_up(e: Emitter, matrix: SSAValue, numbers: SSAValue, wide: bool = False) -> SSAValue:
    """Return rows of [..., rows, width] by their numbers [..., n], zeros for those out of bounds.

    `wide`: the dots are computed in fp32.
    """
    *groups, rows, _ = shape(matrix)
    ones = (*shape(numbers), rows)
    chosen = e.compare(
        e.broadcast(numbers, ones, range(len(ones) - 1)),
        e.iota(ones, len(ones) - 1, element(numbers)),
        "EQ",
    )
    if groups and shape(numbers)[-1] == 1 and is_float(element(matrix)):
        return _largest_of_one(e, chosen, matrix)
    if is_float(element(matrix)) and _may_be_special(matrix):
        return _with_special(e, chosen, matrix, wide)
    return _product(e, chosen, matrix, wide)


def _is_faster(machine: Machine, op: Operation, rows: int) -> bool:
    """Return whether dots take less time than a descriptor for each index.

    `rows` of the table must fit the partitions. Known indices need no descriptors at run time.
    """
    table, indices = op.operands
    width = size(table) // rows
    if not is_float(element(table)) or constant(indices) is not None:
        return False
    if element(table) == f32 and DType.F32.name not in machine.matmul_dtypes:
        return False
    if width < 2 or rows > machine.partitions:
        return False
    count = size(op.results[0]) // width
    dots = lookup_ns(machine, count, rows, width, _SPECIAL if _may_be_special(table) else 0)
    return dots < _GAIN * count * machine.dma_software_descriptor_ns


def lookup_ns(machine: Machine, count: int, rows: int, width: int, special: int) -> float:
    """Return the estimated time of a lookup of `count` rows by dots: that of ACT and DVE.

    Each tile of indices, one on each partition, compares them with `rows` numbers (an instruction
    of two inputs and a conversion), and copies the marks from PSUM, where PE transposed them. Each
    element is copied from PSUM, and compared with the codes of `special` values that are selected.
    """
    tiles = math.ceil(count / machine.partitions)
    select = 1 + machine.dve_two_input_cycles
    marks = rows * (machine.dve_two_input_cycles + 1)
    transposed = machine.partitions + machine.dve_overhead_cycles
    cycles = tiles * (transposed + marks + width * (1 + special * select))
    return cycles / machine.dve_ghz + 4 * machine.dma_fixed_ns


def _may_be_special(table: SSAValue) -> bool:
    known = constant(table)
    return known is None or bool((~np.isfinite(known) | ((known == 0) & np.signbit(known))).any())


def _largest_of_one(e: Emitter, chosen: SSAValue, matrix: SSAValue) -> SSAValue:
    """Return the row that `chosen` [groups, 1, rows] selects of each matrix [groups, rows, width].

    The other rows become -infinity, the only number whose maximum with any other is that other.
    """
    groups, rows, width = dims = shape(matrix)
    where = e.broadcast(e.reshape(chosen, (groups, rows)), dims, (0, 1))
    left = e.select(where, matrix, e.fill_like(-math.inf, matrix))
    return e.reshape(e.reduce(left, -math.inf, [1], "maximum"), (groups, 1, width))


def _with_special(e: Emitter, chosen: SSAValue, matrix: SSAValue, wide: bool) -> SSAValue:
    """Multiply one-hot rows by a table that may contain infinities, NaN and -0.

    These are selected by their number in a separate table, because 0 times infinity is NaN and 0
    plus -0 is 0.
    """
    type_ = element(matrix)
    bits = e.bitcast(matrix, IntegerType(8 * byte_size(type_)))
    special = (
        (math.inf, e.compare_number(matrix, math.inf, "EQ")),
        (-math.inf, e.compare_number(matrix, -math.inf, "EQ")),
        (math.nan, e.compare(matrix, matrix, "NE")),
        (-0.0, e.binary("and", e.compare_number(matrix, 0, "EQ"), e.compare_number(bits, 0, "LT"))),
    )
    zero = e.fill(0, tensor(shape(matrix), bf16))
    codes = zero
    for number, (_, where) in enumerate(special, 1):
        codes = e.select(where, e.fill_like(number, zero), codes)
    plain = e.select(e.compare(codes, zero, "EQ"), matrix, e.fill_like(0, matrix))
    found = _product(e, chosen, plain, wide)
    code = _dot(e, e.convert(chosen, bf16), codes, wide)
    for number, (value, _) in enumerate(special, 1):
        found = e.select(e.compare_number(code, number, "EQ"), e.fill_like(value, found), found)
    return found


def _product(e: Emitter, chosen: SSAValue, matrix: SSAValue, wide: bool) -> SSAValue:
    """Multiply one-hot rows by a table, exactly in the type of the table."""
    type_ = element(matrix)
    if type_ == i1:
        return e.compare_number(_product(e, chosen, e.convert(matrix, bf16), wide), 0, "NE")
    if type_ != f32 or wide:  # wide: a machine that multiplies fp32
        return _dot(e, e.convert(chosen, type_), matrix, wide)
    ones = e.convert(chosen, bf16)
    terms = [e.convert(_dot(e, ones, digit, wide), f32) for digit in digits(e, matrix)]
    return reduce(partial(e.binary, "add"), terms)


def _dot(e: Emitter, chosen: SSAValue, matrix: SSAValue, wide: bool) -> SSAValue:
    """Return the rows of [..., rows, width] that `chosen` [..., n, rows] selects; f32 if `wide`."""
    batch = len(shape(chosen)) - 2
    properties = {name: i64_array(range(batch)) for name in ("lhs_batch_dims", "rhs_batch_dims")}
    properties["lhs_contracting_dims"] = i64_array([batch + 1])
    properties["rhs_contracting_dims"] = i64_array([batch])
    dims = (*shape(chosen)[:-1], shape(matrix)[-1])
    type_ = tensor(dims, f32 if wide else element(matrix))
    return e.emit("dot", [chosen, matrix], type_, properties)


def digits(e: Emitter, matrix: SSAValue) -> list[SSAValue]:
    """Split a float32 table into three bfloat16 tables with the same sum, now if it is constant."""
    found: list[SSAValue] = []
    known = constant(matrix)
    if known is not None:
        left = np.ascontiguousarray(known, np.float32)
        for _ in range(3):
            leading = (left.view(np.int32) & np.int32(_TOP_BITS)).view(np.float32)
            found.append(e.constant(leading.astype(DType.BF16.numpy), owned=True))
            left = left - leading
        return found
    rest = matrix
    for _ in range(3):
        top = e.bitcast(e.binary_number("and", e.bitcast(rest, i32), _TOP_BITS), f32)
        found.append(e.convert(top, bf16))
        rest = e.binary("subtract", rest, top)
    return found
