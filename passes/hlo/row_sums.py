"""Sum rows that have the same number with one dot of ones and zeros, exactly as fp32 adds."""

import math
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import bf16, f32, i32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import byte_size, is_unsigned
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, shape, tensor

TERMS = 5
"""Columns for each column of fp32: three digits, and the places of both infinities."""
DIGIT_CYCLES = 10
"""Cycles of DVE for the columns of one element of fp32."""
LEADING = 1 - 2.0**-9
"""Scale of an fp32 value whose bf16 is the first digit: the largest value does not overflow, and
what is left has 17 bits, which two more digits hold.
"""

LARGE = 2.0**127
"""A power of two in fp32 whose multiples overflow: zero times it stays zero, unlike infinity."""


@dataclass(frozen=True)
class OneHot:
    """How row numbers below `table` select rows: by a quotient and a remainder of `inner`.

    Row `outer * q + r` is column `r` of row `q` of a dot of ones [n, outer] at the quotients with
    columns [n, inner, ...] that are zero except at the remainders. `inner` is a power of two.
    """

    table: int
    inner: int
    partitions: int

    @property
    def outer(self) -> int:
        """The number of quotients, and a few more if they would not divide over partitions."""
        needed = -(-self.table // self.inner)
        blocks = -(-needed // self.partitions)
        return blocks * -(-needed // blocks)


def choose_one_hot(machine: Machine, table: int, count: int, columns: int) -> OneHot:
    """Return the split of row numbers whose sums of `count` rows of `columns` take the shortest
    estimated time.
    """
    splits = [OneHot(table, 1, machine.partitions)]
    while 2 * splits[-1].inner * columns <= machine.matmul_max_moving:
        if 2 * splits[-1].inner > table:
            break
        splits.append(replace(splits[-1], inner=2 * splits[-1].inner))
    return min(splits, key=lambda split: one_hot_ns(machine, split, count, columns))


def one_hot_ns(machine: Machine, split: OneHot, count: int, columns: int) -> float:
    """Return the estimated time of a sum of `count` rows of `columns`."""
    return ones_dot_ns(machine, split.outer, count, columns, split.inner)


def ones_dot_ns(machine: Machine, out: int, depth: int, columns: int, inner: int = 1) -> float:
    """Return the time of a dot of ones [depth, out] with columns [depth, inner * columns]: that of
    PE or DVE, which compares for the ones, and computes the columns.
    """
    width = inner * columns
    blocks = math.ceil(out / machine.pe_columns) * math.ceil(depth / machine.pe_rows)
    start = machine.matmul_overhead_cycles + machine.pe_columns / machine.stationary_load_divisor
    banks = math.ceil(width / machine.matmul_max_moving)
    cycles = max(width, machine.matmul_min_cycles) + banks * start
    each = out + (width if inner > 1 else 0)
    if columns > 1:
        each += DIGIT_CYCLES * columns // TERMS
    computed = each * depth / machine.partitions / machine.dve_ghz
    return max(blocks * cycles / machine.pe_ghz, computed)


def summed(e: Emitter, numbers: SSAValue, rows: SSAValue, split: OneHot) -> SSAValue:
    """Return the sums [table, d] of the fp32 rows [n, d] of each number; integers [n].

    Rows with other numbers are dropped. NaN and infinities reach only their own sums.
    """
    return joined(e, _selected(e, numbers, columns_of(e, rows), split))


def counted(e: Emitter, numbers: SSAValue, split: OneHot) -> SSAValue:
    """Return how often each number below the table is in `numbers` [n], as fp32 [table, 1]."""
    (count,) = shape(numbers)
    return _selected(e, numbers, e.fill(1.0, tensor((count, 1), bf16)), split)


def sums_of(e: Emitter, hits: SSAValue, rows: SSAValue) -> SSAValue:
    """Return the sums [m, d] of the fp32 rows [n, d] that each column of `hits` [n, m] marks.

    All may have a batch as their first dimensions.
    """
    return joined(e, ones_dot(e, hits, columns_of(e, rows)))


def columns_of(e: Emitter, rows: SSAValue) -> SSAValue:
    """Return bf16 columns [..., n, 5 d] whose sums tell those of fp32 rows [..., n, d] (`joined`).

    An fp32 value is the sum of three in bf16, so that all share one matrix of ones. NaN is neither
    below nor above infinity: it becomes the sum of both infinities.
    """
    below = e.compare_number(rows, math.inf, "LT")
    above = e.compare_number(rows, -math.inf, "GT")
    finite = e.compare_number(e.unary("abs", rows), math.inf, "LT")
    plain = e.select(finite, rows, e.fill_like(0.0, rows))
    places = [e.convert(e.unary("not", inside), bf16) for inside in (below, above)]
    return e.concatenate([*_digits(e, plain), *places], len(shape(rows)) - 1)


def _digits(e: Emitter, rows: SSAValue) -> list[SSAValue]:
    """Return three bf16 arrays whose sum is the finite fp32 `rows`."""
    first = e.convert(e.binary_number("multiply", rows, LEADING), bf16)
    rest = e.binary("subtract", rows, e.convert(first, f32))
    second = e.convert(rest, bf16)
    last = e.binary("subtract", rest, e.convert(second, f32))
    return [first, second, e.convert(last, bf16)]


def joined(e: Emitter, sums: SSAValue) -> SSAValue:
    """Combine the sums [..., m, 5 d] of the five parts of each column to fp32 sums [..., m, d]."""
    *outer, width = shape(sums)
    first = [0] * len(outer)
    width //= TERMS
    terms = [e.slice(sums, [*first, i * width], [*outer, (i + 1) * width]) for i in range(TERMS)]
    # The last ones first: the largest value is less than the sum of its first two.
    total = e.binary("add", terms[0], e.binary("add", terms[1], terms[2]))
    for places, sign in zip(terms[3:], (1, -1), strict=True):
        large = e.binary_number("multiply", places, sign * LARGE)
        total = e.binary("add", total, e.binary_number("multiply", large, 4))
    return total


def ones_dot(e: Emitter, hits: SSAValue, columns: SSAValue) -> SSAValue:
    """Return the sums [..., m, k] of columns [..., n, k] that those of `hits` [..., n, m] mark."""
    batch = tuple(range(len(shape(hits)) - 2))
    names = ("lhs_contracting_dims", "rhs_contracting_dims")
    properties = {name: i64_array([len(batch)]) for name in names}
    properties |= {name: i64_array(batch) for name in ("lhs_batch_dims", "rhs_batch_dims")}
    type_ = tensor((*shape(hits)[: len(batch)], shape(hits)[-1], shape(columns)[-1]), f32)
    return e.emit("dot", [e.convert(hits, bf16), columns], type_, properties)


def _selected(e: Emitter, numbers: SSAValue, columns: SSAValue, split: OneHot) -> SSAValue:
    count, width = shape(columns)
    quotients, inner = numbers, split.inner
    if inner > 1:
        if byte_size(element(numbers)) < 4:
            numbers = e.convert(numbers, i32)
        right = "shift_right_logical" if is_unsigned(element(numbers)) else "shift_right_arithmetic"
        quotients = e.binary_number(right, numbers, inner.bit_length() - 1)
        remainders = e.binary_number("and", numbers, inner - 1)
        dims = (count, inner, width)
        marks = _marks(e, remainders, dims)
        wide = e.broadcast(columns, dims, (0, 2))
        columns = e.select(marks, wide, e.fill_like(0, wide))
        columns = e.reshape(columns, (count, inner * width))
    hits = _marks(e, quotients, (count, split.outer))
    found = e.reshape(ones_dot(e, hits, columns), (split.outer * inner, width))
    return e.slice(found, (0, 0), (split.table, width))


def _marks(e: Emitter, numbers: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    """Return where dimension 1 of a predicate of shape `dims` has the number of dimension 0."""
    wide = e.broadcast(e.convert(numbers, f32), dims, (0,))
    return e.compare(wide, e.iota(dims, 1, f32), "EQ")
