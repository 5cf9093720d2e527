"""gather, scatter, dynamic_slice and dynamic_update_slice: DMAs whose rows an index chooses.

The indexed dimensions are moved to the front, so that what an index chooses is one contiguous row;
row numbers are computed on POOL, whose 32-bit integers are exact.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.data_movement import (
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    ScatterOp,
)
from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.convert import hbm_form
from neuronir.passes.lowering.demand import ints
from neuronir.passes.lowering.layout import (
    Form,
    atom,
    dim_atoms,
    merge,
    row_major,
    tile,
    tile_width,
)
from neuronir.passes.lowering.movement import copy_into, place_layout
from neuronir.passes.lowering.reduce import reducer
from neuronir.passes.lowering.state import Lowering, union
from neuronir.passes.lowering.values import (
    Partition,
    Value,
    constant_value,
    new_value,
    rename_dims,
    reshape,
    scalar_value,
    slice_value,
)
from neuronir.passes.lowering.views import chunks, plan


def row_partition(count: int, limit: int) -> Partition:
    """Rows on partitions: the layout of a vector of `count` indices."""
    if count == 1:
        return ()
    width = tile_width(count, limit)
    return ((tile(count, 1, width)[1] if width < count else atom(count, 1), 1),)


class Integers:
    """Exact int32 arithmetic on vectors of indices, all in one layout."""

    def __init__(self, state: Lowering, count: int) -> None:
        self.state = state
        self.count = count
        self.partition = row_partition(count, state.machine.partitions)

    def scalar(
        self, value: Value, op0: AluOp, a: float, op1: AluOp = AluOp.BYPASS, b: float = 0.0
    ) -> Value:
        """(value op0 a) op1 b."""
        form = self._form(value)
        out = self._out()
        for piece in chunks(self._walk([out, form], out), out.partitions, 4, 1 << 15):
            self.state.emitter.tensor_scalar(
                piece.view(out, 0), piece.view(form, 1), op0, a, op1, b, engine=Engine.POOL
            )
        return self._value(out)

    def tensor(self, op: AluOp, lhs: Value, rhs: Value) -> Value:
        """lhs op rhs."""
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

    def _walk(self, forms: list[Form], out: Form):  # type: ignore[no-untyped-def]
        dims = plan(forms, [a for a, _ in out.free])
        assert dims is not None
        return dims

    def _value(self, form: Form) -> Value:
        value = new_value((self.count,), DType.I32)
        value.forms.append(form)
        return value


def _components(state: Lowering, indices: Value, vector_dim: int, n: int) -> list[Value]:
    """The columns of an index array, each flattened to a vector of all index positions."""
    shape = indices.shape
    if indices.dtype is not DType.I32:
        if indices.array is not None:
            indices = constant_value(indices.array.astype(np.int32), DType.I32)
        else:
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


def _as_int32(state: Lowering, indices: Value) -> Value:
    partition = state.default_partition(indices.support)
    count = 1
    for a, _ in partition:
        count *= a.size
    form = state.converter.ensure(indices, partition, count)
    out = state.allocate(indices.support, partition, DType.I32)
    dims = plan([out, form], [a for a, _ in out.free])
    assert dims is not None
    for piece in chunks(dims, out.partitions, 4, 1 << 15):
        state.emitter.copy(piece.view(out, 0), piece.view(form, 1), Engine.POOL)
    return Value(indices.shape, DType.I32, union([indices.support]), [out])


def _vector(state: Lowering, value: Value, count: int) -> Value:
    """A vector of `count` equal or given numbers as one that varies, for a form of its own."""
    if value.scalar is None:
        return value
    return constant_value(np.full(count, value.scalar, np.int32), DType.I32)


def lower_gather(state: Lowering, op: Operation) -> None:
    """gather: rows of a table in HBM by DMA, an index each; indices are clamped as HLO says."""
    assert isinstance(op, GatherOp)
    operand, indices = state.value(op.operands[0]), state.value(op.operands[1])
    sizes = ints(op.slice_sizes)
    collapsed, start_map = ints(op.collapsed_slice_dims), ints(op.start_index_map)
    batching, index_batching = ints(op.operand_batching_dims), ints(op.start_indices_batching_dims)
    vector_dim = int(op.index_vector_dim.value.data)
    shape = operand.shape
    moving = [d for d in start_map if sizes[d] < shape[d]]
    lead = [*batching, *moving]
    rest = [d for d in range(len(shape)) if d not in lead]
    for d in moving:
        if sizes[d] != 1:
            raise NeuronError(
                "NCC_EVRF001",
                f"{source_name(op)}: gather of slices of {sizes[d]} along an indexed dimension of "
                f"{shape[d]} is not supported",
                help="slices of 1 or of the whole dimension are",
            )
    cut = operand
    if any(sizes[d] != shape[d] for d in rest):
        limits = [sizes[d] if d in rest else shape[d] for d in range(len(shape))]
        cut = slice_value(operand, [0] * len(shape), limits, [1] * len(shape))
    table = _moved(cut, [*lead, *rest])
    index_shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    count = prod(index_shape)
    row = prod(sizes[d] for d in rest)
    rows = prod(shape[d] for d in lead)
    number = _row_numbers(
        state,
        indices,
        vector_dim,
        start_map,
        moving,
        batching,
        index_batching,
        shape,
        lead,
        index_shape,
        count,
        clamp={d: shape[d] - sizes[d] for d in moving},
    )
    partition = row_partition(count, state.machine.partitions)
    dtype = state.dtype(op.results[0])
    flat_shape = (count, row)
    strides_scale = tuple((_scaled(a, row), s) for a, s in partition)
    out = state.allocate(merge(dim_atoms(flat_shape, range(2))), strides_scale, dtype)
    memory = contiguous_in_hbm(state, table)
    if number is None:
        number = constant_value(np.zeros(count, np.int32), DType.I32)
    index_form = state.converter.ensure(
        _vector(state, number, count), partition, max(1, _count(partition))
    )
    for first, size in _row_tiles(partition, count):
        dst = out.at(first * row, size, [(1, row)])
        src = View(memory.buffer, 0, 1, ((1, row),), memory.offset)
        which = index_form.at(first, size, ())
        state.emitter.emit(
            "dma_gather", [dst], [src, which], {"row_stride": row * dtype.size, "rows": rows}
        )
    flat = new_value(flat_shape, dtype)
    flat.forms.append(out)
    kept = [d for d in range(len(shape)) if d not in collapsed and d not in batching]
    order = [d for d in rest if d in kept]
    slice_shape = [sizes[d] for d in kept]
    value = reshape(
        flat, (*index_shape, *[sizes[d] for d in order], *[1 for d in kept if d not in order])
    )
    offset = ints(op.offset_dims)
    result_shape = state.shape(op.results[0])
    places = [d for d in range(len(result_shape)) if d not in offset]
    ordered = [*order, *[d for d in kept if d not in order]]
    targets = [*places, *[offset[kept.index(d)] for d in ordered]]
    del slice_shape
    state.set(op.results[0], rename_dims(value, result_shape, targets))


def _scaled(a, factor: int):  # type: ignore[no-untyped-def]
    from neuronir.passes.lowering.layout import Atom

    return Atom(a.size, a.stride * factor, a.unit * factor, a.extent)


def _count(partition: Partition) -> int:
    n = 1
    for a, _ in partition:
        n *= a.size
    return n


def _row_tiles(partition: Partition, count: int) -> list[tuple[int, int]]:
    width = _count(partition)
    return [(low, min(width, count - low)) for low in range(0, count, width)]


def _moved(value: Value, order: Sequence[int]) -> Value:
    """The dimensions in another order."""
    if list(order) == list(range(len(value.shape))):
        return value
    shape = [value.shape[d] for d in order]
    if value.array is not None:
        return constant_value(np.ascontiguousarray(value.array.transpose(order)), value.dtype)
    return rename_dims(value, shape, [list(order).index(i) for i in range(len(order))])


def contiguous_in_hbm(state: Lowering, value: Value) -> Form:
    """A row-major copy of a value in HBM."""
    for form in state.converter.source_forms(value):
        if form.hbm and all(s == a.stride for a, s in form.free) and not form.dtype:
            covered = 1
            for a, _ in form.free:
                covered *= a.size
            if covered == value.size:
                return form
    if value.array is not None or (value.scalar is not None):
        return state.converter.in_hbm(value)
    fresh = new_value(value.shape, value.dtype)
    buffer = state.emitter.variable("scratch", "scratch", value.shape, value.dtype)
    target = hbm_form(buffer, fresh)
    write_all(state, value, target)
    value.forms.append(target)
    return target


def write_all(state: Lowering, value: Value, target: Form) -> None:
    """Write a value to a row-major form in HBM."""
    from neuronir.passes.lowering.function import store

    store(state, value, target)


def _row_numbers(
    state: Lowering,
    indices: Value,
    vector_dim: int,
    start_map: Sequence[int],
    moving: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
    shape: Sequence[int],
    lead: Sequence[int],
    index_shape: Sequence[int],
    count: int,
    clamp: dict[int, int] | None,
) -> Value | None:
    """The row of the table for each index position; None where all are row 0."""
    unit = row_major([shape[d] for d in lead])
    scale = {d: unit[i] for i, d in enumerate(lead)}
    exact = Integers(state, count)
    total: Value | None = None
    columns = _components(state, indices, vector_dim, len(start_map)) if moving else []
    for j, d in enumerate(start_map):
        if d not in moving:
            continue
        column = _vector(state, columns[j], count)
        if clamp is not None:
            column = exact.scalar(column, AluOp.MAX, 0.0, AluOp.MIN, float(clamp[d]))
        if scale[d] != 1:
            column = exact.scalar(column, AluOp.MULTIPLY, float(scale[d]))
        total = column if total is None else exact.tensor(AluOp.ADD, total, column)
    positions = (
        np.indices(tuple(index_shape)).reshape(len(index_shape), -1) if index_shape else None
    )
    offset = np.zeros(count, np.int32)
    for d, i in zip(batching, index_batching, strict=True):
        place = i if i < vector_dim else i - 1
        assert positions is not None
        offset += (positions[place] * scale[d]).astype(np.int32)
    if offset.any():
        base = constant_value(offset, DType.I32)
        total = base if total is None else exact.tensor(AluOp.ADD, total, base)
    return total


def lower_scatter(state: Lowering, op: Operation) -> None:
    """scatter: rows written (or combined) one after the other into a copy of the operand in HBM."""
    assert isinstance(op, ScatterOp)
    if len(op.operands) != 3:
        raise NeuronError("NCC_EVRF001", f"{source_name(op)}: scatter of several operands")
    operand, indices, updates = (state.value(v) for v in op.operands)
    dtype = state.dtype(op.results[0])
    shape = operand.shape
    window, inserted = ints(op.update_window_dims), ints(op.inserted_window_dims)
    scattered = ints(op.scatter_dims_to_operand_dims)
    batching, index_batching = ints(op.input_batching_dims), ints(op.scatter_indices_batching_dims)
    vector_dim = int(op.index_vector_dim.value.data)
    kept = [d for d in range(len(shape)) if d not in inserted and d not in batching]
    extents = {d: updates.shape[window[i]] for i, d in enumerate(kept)}
    for d in range(len(shape)):
        extents.setdefault(d, 1)
    moving = [d for d in scattered if extents[d] < shape[d]]
    lead = [*batching, *moving]
    rest = [d for d in range(len(shape)) if d not in lead]
    if any(extents[d] != shape[d] for d in rest) or any(extents[d] != 1 for d in moving):
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: scatter of partial windows is not supported",
            help="windows of 1 or of the whole dimension are",
        )
    accumulate = _combine(op, dtype)
    order = [*lead, *rest]
    moved_shape = [shape[d] for d in order]
    fresh = new_value(moved_shape, dtype)
    buffer = state.emitter.variable("scratch", "scratch", moved_shape, dtype)
    target = hbm_form(buffer, fresh)
    write_all(state, _moved(operand, order), target)
    index_shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    count = prod(index_shape)
    row = prod(shape[d] for d in rest)
    rows = prod(shape[d] for d in lead)
    number = _row_numbers(
        state,
        indices,
        vector_dim,
        scattered,
        moving,
        batching,
        index_batching,
        shape,
        lead,
        index_shape,
        count,
        clamp=None,
    )
    if number is None:
        number = constant_value(np.zeros(count, np.int32), DType.I32)
    number = _only_valid(state, number, indices, vector_dim, scattered, moving, shape, count, lead)
    batch_dims = [d for d in range(len(updates.shape)) if d not in window]
    inner = [window[kept.index(d)] for d in rest if d in kept]
    ones = [window[kept.index(d)] for d in kept if d not in rest]
    source = reshape(_moved(updates, [*batch_dims, *ones, *inner]), (count, row))
    partition = row_partition(count, state.machine.partitions)
    source_form = state.converter.ensure(
        source, tuple((_scaled(a, row), s) for a, s in partition), max(1, _count(partition))
    )
    index_form = state.converter.ensure(
        _vector(state, number, count), partition, max(1, _count(partition))
    )
    columns = dim_atoms((count, row), [1])
    for first, size in _row_tiles(partition, count):
        dims = plan([source_form], columns) or []
        free = [(d.strides[0], d.size) for d in dims]
        state.emitter.emit(
            "dma_scatter",
            [View(buffer, 0, 1, ((1, row),))],
            [source_form.at(first * row, size, free), index_form.at(first, size, ())],
            {"row_stride": row * dtype.size, "rows": rows, "accumulate": accumulate},
        )
    fresh.forms.append(target)
    back = [order.index(d) for d in range(len(shape))]
    result = fresh if order == sorted(order) else rename_dims(fresh, shape, order)
    del back
    state.set(op.results[0], result)


def _combine(op: ScatterOp, dtype: DType) -> AluOp:
    block = op.regions[0].block
    last = block.last_op
    if last is not None and len(list(block.ops)) == 1 and last.operands[0] is block.args[1]:
        return AluOp.BYPASS
    alu = reducer(op, op.regions[0], dtype)
    if alu not in (AluOp.ADD, AluOp.MAX, AluOp.MIN):
        raise NeuronError(
            "NCC_EVRF016",
            f"{source_name(op)}: scatter with {alu.name.lower()} is not supported",
            help="add, min, max and assignment are",
        )
    return alu


def _only_valid(
    state: Lowering,
    number: Value,
    indices: Value,
    vector_dim: int,
    scattered: Sequence[int],
    moving: Sequence[int],
    shape: Sequence[int],
    count: int,
    lead: Sequence[int],
) -> Value:
    """-1 in place of a row number one of whose indices is out of range; HLO drops such updates."""
    if len(lead) <= 1:
        return number
    exact = Integers(state, count)
    columns = _components(state, indices, vector_dim, len(scattered))
    valid: Value | None = None
    for j, d in enumerate(scattered):
        if d not in moving:
            continue
        column = _vector(state, columns[j], count)
        for alu, bound in ((AluOp.IS_GE, 0.0), (AluOp.IS_LT, float(shape[d]))):
            one = exact.scalar(column, alu, bound)
            valid = one if valid is None else exact.tensor(AluOp.MULTIPLY, valid, one)
    if valid is None:
        return number
    shifted = exact.scalar(number, AluOp.ADD, 1.0)
    masked = exact.tensor(AluOp.MULTIPLY, shifted, valid)
    return exact.scalar(masked, AluOp.ADD, -1.0)


def lower_dynamic_slice(state: Lowering, op: Operation) -> None:
    """dynamic_slice: a slice where the indices are known, else a gather of rows."""
    assert isinstance(op, DynamicSliceOp)
    source = state.value(op.operands[0])
    sizes = ints(op.slice_sizes)
    starts = _known(state, op, op.operands[1:], source.shape, sizes)
    limits = [a + n for a, n in zip(starts, sizes, strict=True)]
    state.set(op.results[0], slice_value(source, starts, limits, [1] * len(sizes)))


def lower_dynamic_update_slice(state: Lowering, op: Operation) -> None:
    """dynamic_update_slice with known indices: the operand with the update written over it."""
    assert isinstance(op, DynamicUpdateSliceOp)
    source, update = state.value(op.operands[0]), state.value(op.operands[1])
    starts = _known(state, op, op.operands[2:], source.shape, update.shape)
    cut = [d for d in range(len(source.shape)) if update.shape[d] != source.shape[d]]
    target = place_layout(state, op, [source, update], cut)
    copy_into(state, target, source.shape, _as_whole(source), [0] * len(starts))
    copy_into(state, target, source.shape, update, starts)
    value = new_value(source.shape, source.dtype)
    value.forms.append(target)
    state.set(op.results[0], value)


def _as_whole(value: Value) -> Value:
    if value.scalar is not None:
        return scalar_value(value.shape, value.dtype, value.scalar)
    return value


def _known(
    state: Lowering,
    op: Operation,
    operands: Sequence[object],
    shape: Sequence[int],
    sizes: Sequence[int],
) -> list[int]:
    starts: list[int] = []
    for ssa, n, size in zip(operands, shape, sizes, strict=True):
        value = state.value(ssa)  # type: ignore[arg-type]
        if value.scalar is None and n != size:
            raise NeuronError(
                "NCC_EVRF001",
                f"{source_name(op)}: {op.name.removeprefix('hlo.')} with an index that is not "
                "known at compile time is not supported",
                help="indices may be constants or loop counters of a static loop",
            )
        start = int(value.scalar or 0)
        starts.append(max(0, min(start, n - size)))
    return starts
