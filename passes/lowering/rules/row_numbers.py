"""Compute the table rows that an index array selects, on POOL with exact 32-bit integers."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    merge,
    row_major,
)
from neuronir.passes.lowering.layouts.values import (
    Partition,
    Value,
    constant_value,
    new_value,
    reshape,
    scalar_value,
    slice_value,
)
from neuronir.passes.lowering.layouts.views import Dim, chunks, walked
from neuronir.passes.lowering.rules.windows import Windows
from neuronir.passes.lowering.state import Lowering, union


class Integers:
    """Exact int32 arithmetic on vectors of indices, all in one layout."""

    def __init__(self, state: Lowering, count: int, partition: Partition) -> None:
        self.state = state
        self.count = count
        self.partition = partition

    def scalar(
        self, value: Value, op0: AluOp, a: float, op1: AluOp = AluOp.BYPASS, b: float = 0.0
    ) -> Value:
        """Compute (value op0 a) op1 b."""
        form = self._form(value)
        out = self._out()
        for piece in chunks(self._walk([out, form], out), out.partitions, 4, 1 << 15):
            self.state.emitter.tensor_scalar(
                piece.view(out, 0), piece.view(form, 1), op0, a, op1, b, engine=Engine.POOL
            )
        return self._value(out)

    def tensor(self, op: AluOp, lhs: Value, rhs: Value) -> Value:
        """Compute lhs op rhs."""
        left, right = self._form(lhs), self._form(rhs)
        out = self._out()
        for piece in chunks(self._walk([out, left, right], out), out.partitions, 3, 1 << 15):
            self.state.emitter.tensor_tensor(
                op, piece.view(out, 0), piece.view(left, 1), piece.view(right, 2), Engine.POOL
            )
        return self._value(out)

    def _form(self, value: Value) -> Form:
        count = 1
        for a, _ in self.partition:
            count *= a.size
        return self.state.converter.ensure(value, self.partition, count)

    def _out(self) -> Form:
        support = merge([atom(self.count, 1)])
        return self.state.allocate(support, self.partition, DType.I32)

    def _walk(self, forms: list[Form], out: Form) -> list[Dim]:
        return walked(forms, [a for a, _ in out.free])

    def _value(self, form: Form) -> Value:
        value = new_value((self.count,), DType.I32)
        value.forms.append(form)
        return value


def components(state: Lowering, indices: Value, vector_dim: int, n: int) -> list[Value]:
    """Split an index array into columns, each flattened to a vector of all index positions."""
    shape = indices.shape
    if indices.dtype is not DType.I32:
        indices = _as_int32(state, indices)
    out: list[Value] = []
    for j in range(n):
        if vector_dim == len(shape):
            out.append(reshape(indices, (prod(shape),)))
            continue
        starts = [0] * len(shape)
        limits = list(shape)
        starts[vector_dim], limits[vector_dim] = j, j + 1
        column = slice_value(indices, starts, limits, [1] * len(shape)) if n > 1 else indices
        if column.array is not None:
            column = constant_value(np.ascontiguousarray(column.array), DType.I32)
        out.append(reshape(column, (prod(shape) // n,)))
    return out


_LARGEST = 2**31 - 1
"""Return the replacement of larger unsigned indices: it is out of range for any tensor, too."""


def _as_int32(state: Lowering, indices: Value) -> Value:
    wide = indices.dtype is DType.U32
    if indices.scalar is not None:
        return scalar_value(indices.shape, DType.I32, min(int(indices.scalar), _LARGEST))
    if indices.array is not None:
        array = np.minimum(indices.array, np.uint32(_LARGEST)) if wide else indices.array
        return constant_value(array.astype(np.int32), DType.I32)
    partition = state.default_partition(indices.support)
    count = 1
    for a, _ in partition:
        count *= a.size
    form = state.converter.ensure(indices, partition, count)
    out = state.allocate(indices.support, partition, DType.I32)
    form, dims = state.converter.beside(indices, form, [out], [a for a, _ in out.free])
    for piece in chunks(dims, out.partitions, 4, 1 << 15):
        target, source = piece.view(out, 0), piece.view(form, 1)
        if wide:
            state.emitter.tensor_scalar(
                target, source, AluOp.MIN, float(_LARGEST), engine=Engine.POOL
            )
        else:
            state.emitter.copy(target, source, Engine.POOL)
    return Value(indices.shape, DType.I32, union([indices.support]), [out])


def as_vector(value: Value, count: int) -> Value:
    """Return a vector of `count` equal or given values as one that varies, with its own form."""
    if value.scalar is None:
        return value
    return constant_value(np.full(count, value.scalar, np.int32), DType.I32)


def scaled(a: Atom, factor: int) -> Atom:
    """Return the row atom in the numbering of a table with `factor` elements per row."""
    return Atom(a.size, a.stride * factor, a.unit * factor, a.extent)


def row_count(partition: Partition) -> int:
    """Return the rows that a layout holds at a time."""
    return prod(a.size for a, _ in partition)


def row_tiles(partition: Partition, count: int) -> list[tuple[int, int]]:
    """Return (first, number) of the rows of each instruction."""
    width = row_count(partition)
    step = partition[0][0].stride if partition else 1
    return [
        (low + inner, min(width, count // step - low // step))
        for low in range(0, count, width * step)
        for inner in range(step)
    ]


def row_numbers(
    state: Lowering,
    windows: Windows,
    starts: Mapping[int, Value],
    base: NDArray[np.int64] | None,
    clamp: bool,
    fixed: Sequence[Value] = (),
) -> Value:
    """Return the number of each row of each window.

    `starts` are the first indices along some of the lead dimensions, a vector of all positions each
    (0 along the others). `base` are further row numbers of each position. With `clamp`, starts are
    clamped so that windows fit. Otherwise the rows of windows that do not fit are -1. `fixed` are
    starts along dimensions of which a window takes all: it fits only at 0.
    """
    exact = Integers(state, windows.count, windows.partition(state.machine.partitions))
    unit = dict(zip(windows.lead, row_major([windows.shape[d] for d in windows.lead]), strict=True))
    total: Value | None = None
    valid: Value | None = None
    for d, start in starts.items():
        room = float(windows.shape[d] - windows.extents[d])
        column = as_vector(windows.spread(start), windows.count)
        if clamp:
            column = exact.scalar(column, AluOp.MAX, 0.0, AluOp.MIN, room)
        else:
            for alu, bound in ((AluOp.IS_GE, 0.0), (AluOp.IS_LE, room)):
                one = exact.scalar(column, alu, bound)
                valid = one if valid is None else exact.tensor(AluOp.MULTIPLY, valid, one)
        if unit[d] != 1:
            column = exact.scalar(column, AluOp.MULTIPLY, float(unit[d]))
        total = column if total is None else exact.tensor(AluOp.ADD, total, column)
    for start in () if clamp else fixed:
        column = as_vector(windows.spread(start), windows.count)
        one = exact.scalar(column, AluOp.IS_EQ, 0.0)
        valid = one if valid is None else exact.tensor(AluOp.MULTIPLY, valid, one)
    offsets = windows.offsets(base)
    if total is None:
        total = as_vector(constant_value(offsets, DType.I32), windows.count)
    elif offsets.any():
        total = exact.tensor(AluOp.ADD, total, constant_value(offsets, DType.I32))
    if valid is None:
        return total
    shifted = exact.scalar(total, AluOp.ADD, 1.0)
    masked = exact.tensor(AluOp.MULTIPLY, shifted, valid)
    return exact.scalar(masked, AluOp.ADD, -1.0)


def batch_base(
    windows: Windows,
    index_shape: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
    vector_dim: int,
) -> NDArray[np.int64] | None:
    """Return the row numbers that batch dimensions add to each position."""
    if not batching:
        return None
    unit = dict(zip(windows.lead, row_major([windows.shape[d] for d in windows.lead]), strict=True))
    places = np.indices(tuple(index_shape)).reshape(len(index_shape), -1)
    base = np.zeros(windows.positions, np.int64)
    for d, i in zip(batching, index_batching, strict=True):
        base += places[i if i < vector_dim else i - 1] * unit[d]
    return base
