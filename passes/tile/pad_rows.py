"""Pad the rows of products of a batch, so that several products fill the partitions.

PE writes the 49 rows of a product from partition 0 or 64 on, not from partition 49. With 64 rows,
two products are on 128 partitions, and each later op on them is one instruction:

%s = hlo.dot %q, %k : 64x49x49     ->     %p = hlo.pad %q                       : 64x64x32
                                          %s = hlo.dot %p, %k                   : 64x64x49
%o = hlo.dot %s, %v : 64x49x32            %o = hlo.slice (hlo.dot %s, %v)       : 64x49x32
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.interface import tiling_of
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.statistics import record
from neuronir.passes.tile.group import is_cast
from neuronir.passes.tile.layouts.dot_plans import free_dims, parts_of_partitions
from neuronir.passes.tile.numbers import number_of
from neuronir.passes.tile.padding_values import may_be_special, of_elements, of_reduction
from neuronir.passes.tile.retile import retile
from neuronir.passes.tile.whole import MARK

LEAST_USED = 0.6
"""Rows should be at least this share of their partitions."""


class _NotPadded(Exception):
    """Raised if the rows of a product cannot be padded."""


@dataclass
class _Rows:
    """The padded dimension of each value, from a product up to other products.

    `ends` are the results of those, and of ops on them, which other ops read without padding.
    """

    product: Operation
    dims: dict[SSAValue, int]
    ops: list[Operation]
    ends: set[SSAValue]
    size: int

    @property
    def reduced(self) -> bool:
        """Return whether an op reduces each row."""
        return any(op.name == "hlo.reduce" for op in self.ops)


def pad_rows(block: Block, machine: Machine) -> None:
    """Pad the rows of the products of a block that are reduced, up to the next products."""
    for op in list(block.ops):
        if op.name != "hlo.dot" or op.parent is not block:
            continue
        for dim, size in _short(op, machine):
            try:
                rows = _rows(op, dim, size)
                if rows.reduced and _Writer(rows).write():
                    record("tile-pad-axes", "products with padded rows")
                    break
            except _NotPadded:
                continue


def _short(op: Operation, machine: Machine) -> Iterator[tuple[int, int]]:
    """Yield (dimension of the result, padded size) of rows that leave partitions unused."""
    shape = shape_of(op.results[0])
    batch = prod(shape[: len(ints(op, "lhs_batch_dims"))])
    for which in (0, 1):
        dims = [to for _, to in free_dims(op, which) if shape[to] > 1]
        if len(dims) != 1:
            continue
        n = shape[dims[0]]
        for size in sorted(machine.partition_starts):
            if LEAST_USED * size <= n <= size:
                if n < size and 2 <= parts_of_partitions(machine, size) <= batch:
                    yield dims[0], size
                break


def _rows(product: Operation, dim: int, size: int) -> _Rows:
    """Return the values with the rows of a product; raises _NotPadded if one is read otherwise."""
    (result,) = product.results
    rows = _Rows(product, {result: dim}, [product], set(), size)
    op = product.next_op
    while op is not None:
        read = [v for v in op.operands if v in rows.dims and v not in rows.ends]
        if read:
            _follow(rows, op, read)
        op = op.next_op
    inside = set(rows.ops)
    for value in rows.dims.keys() - rows.ends:
        if any(use.operation not in inside for use in value.uses):
            raise _NotPadded
    return rows


def _follow(rows: _Rows, op: Operation, read: list[SSAValue]) -> None:
    """Add the result of an op that reads padded values."""
    tiling = tiling_of(op)
    known = (*ELEMENTWISE, "hlo.reduce", "hlo.broadcast", "hlo.dot")
    if tiling is None or op.name not in known:
        raise _NotPadded
    (result,) = op.results
    found = set()
    for v, needs in zip(op.operands, tiling.operands, strict=True):
        if v in rows.dims:
            found.add(needs[rows.dims[v]])
    if len(found) != 1 or not isinstance(dim := found.pop(), int):
        raise _NotPadded
    if op.name == "hlo.dot":
        if dim < len(ints(op, "lhs_batch_dims")) or len(read) > 1:
            raise _NotPadded
        rows.ends.add(result)
    elif any(v in rows.ends for v in op.operands):
        rows.ends.add(result)
    rows.dims[result] = dim
    rows.ops.append(op)


class _Writer:
    """Writes the ops of padded rows."""

    def __init__(self, rows: _Rows) -> None:
        self.rows = rows
        self.inside = set(rows.ops)
        self.new: dict[SSAValue, SSAValue] = {}
        # a larger operand would take longer to copy than the product to turn
        self.most = 2 * prod(shape_of(rows.product.results[0]))

    def write(self) -> bool:
        """Replace the ops; returns whether the operands can be padded."""
        if not all(self._can_pad(v, d) for op in self.rows.ops for v, d in self._outside(op)):
            return False
        if not self._stays_finite():
            return False
        for op in self.rows.ops:
            self._write(op, Emitter(op))
        for op in reversed(self.rows.ops):
            erase_dead(op)
        return True

    def _stays_finite(self) -> bool:
        """Return whether zeros as padding become finite numbers.

        A transpose by PE multiplies by zeros, which makes NaN of infinities, in other rows, too.
        """
        numbers: dict[SSAValue, float | None] = {self.rows.product.results[0]: 0.0}
        for op in self.rows.ops[1:]:
            if op.results[0] in self.rows.ends:
                continue
            outside = dict(self._outside(op))
            sides = [
                numbers[v] if v in numbers else self._padding(v, outside.get(v))
                for v in op.operands
            ]
            number: float | None = None
            if op.name == "hlo.reduce":
                number = of_reduction(op, *sides)
            elif op.name == "hlo.broadcast":
                number = sides[0]
            elif known := [n for n in sides if n is not None]:
                number = of_elements(op, known) if len(known) == len(sides) else None
            if may_be_special(op, number):
                return False
            numbers[op.results[0]] = number
        return True

    def _padding(self, value: SSAValue, dim: int | None) -> float | None:
        """Return the number after the rows of an operand; None if it is not known."""
        number = number_of(value)
        if number is not None or dim is None:
            return number
        source = _before(value, dim)
        if source is None or source[0] is value:
            return 0.0
        return self._padding(*source)

    def _outside(self, op: Operation) -> list[tuple[SSAValue, int]]:
        """Return the operands that are not padded yet, with the dimension to pad."""
        tiling = tiling_of(op)
        assert tiling is not None
        dim = self.rows.dims[op.results[0]]
        return [
            (v, needs.index(dim))
            for v, needs in zip(op.operands, tiling.operands, strict=True)
            if v not in self.rows.dims and dim in needs
        ]

    def _write(self, op: Operation, build: Emitter) -> None:
        (result,) = op.results
        tiling, dim = tiling_of(op), self.rows.dims[result]
        assert tiling is not None
        operands = [
            self._operand(build, v, needs.index(dim) if dim in needs else None)
            for v, needs in zip(op.operands, tiling.operands, strict=True)
        ]
        new = retile(op, operands, self._shape(result, dim))
        build.insert(new)
        self.new[result] = new.results[0]
        uses = [use for use in result.uses if use.operation not in self.inside]
        if uses:
            old = shape_of(result)
            part = build.slice(new.results[0], [0] * len(old), old)
            for use in uses:
                use.operation.operands[use.index] = part

    def _operand(self, build: Emitter, value: SSAValue, dim: int | None) -> SSAValue:
        """Return an operand, with padded rows if they are dimension `dim`.

        One value may be the rows and the columns of a product.
        """
        if value in self.rows.dims:
            return self.new[value]
        return value if dim is None else self._padded(build, value, dim)

    def _shape(self, value: SSAValue, dim: int) -> list[int]:
        shape = list(shape_of(value))
        shape[dim] = self.rows.size
        return shape

    def _can_pad(self, value: SSAValue, dim: int) -> bool:
        source = _before(value, dim)
        if source is None or source[1] is None:
            small = prod(shape_of(value)) <= self.most
            return small or isinstance(value, BlockArgument) or source is not None
        return self._can_pad(source[0], source[1])

    def _padded(self, build: Emitter, value: SSAValue, dim: int) -> SSAValue:
        """Return a value with zeros after the rows: views are of a padded value."""
        source, op = _before(value, dim), value.owner
        if source is None or not isinstance(op, Operation):
            shape = shape_of(value)
            high = [self.rows.size - n if d == dim else 0 for d, n in enumerate(shape)]
            made = build.pad(value, build.scalar(0, element(value)), [0] * len(shape), high)
            if isinstance(value, BlockArgument):  # part of its load
                assert isinstance(made.owner, Operation)
                made.owner.attributes[MARK] = UnitAttr()
            return made
        if op.name == "hlo.constant":
            shape = shape_of(value)
            edges = [(0, self.rows.size - n if d == dim else 0) for d, n in enumerate(shape)]
            array = np.pad(constant_array(op), edges)
            return build.constant(array, element=element(op.results[0]))
        inner, at = source
        operand = inner if at is None else self._padded(build, inner, at)
        new = retile(op, [operand], self._shape(value, dim))
        build.insert(new)
        return new.results[0]


def _before(value: SSAValue, dim: int) -> tuple[SSAValue, int | None] | None:
    """Return the operand of a view, and its dimension that becomes `dim` (None: none does).

    Returns None for a value that must be padded itself.
    """
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if op.name == "hlo.constant":
        return value, None
    if op.name == "hlo.broadcast":
        dims = ints(op, "dimensions")
        at = dims.index(dim) if dim in dims else None
        wide = at is not None and shape_of(op.operands[0])[at] > 1
        return op.operands[0], at if wide else None
    if op.name == "hlo.reshape":
        before, after = shape_of(op.operands[0]), shape_of(value)
        inner = prod(after[dim + 1 :])
        for d, n in enumerate(before):
            if n == after[dim] and prod(before[d + 1 :]) == inner:
                return op.operands[0], d
        return None
    if op.name == "hlo.transpose":
        return op.operands[0], ints(op, "permutation")[dim]
    return (op.operands[0], dim) if is_cast(op) else None
