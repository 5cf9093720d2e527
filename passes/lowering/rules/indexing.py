"""Lower gather and scatter: DMAs with indexed rows.

An index selects a row: a contiguous part of a window, in the table as it is. Or dimensions of which
a window takes only a part are moved to the front, where this gives much fewer rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.data_movement import (
    GatherOp,
    ScatterOp,
)
from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.hlo.support.values import ints as integers
from neuronir.passes.lowering.conversion.memory import (
    contiguous_in_hbm,
    result_in_hbm,
    row_major_in_hbm,
    write_all,
)
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.layouts.layout import dim_atoms, merge
from neuronir.passes.lowering.layouts.values import (
    Value,
    constant_value,
    new_value,
    rename_dims,
    reshape,
    slice_value,
)
from neuronir.passes.lowering.rules.elements import elements_of, gather_elements
from neuronir.passes.lowering.rules.reduce import reducer
from neuronir.passes.lowering.rules.row_numbers import (
    as_vector,
    batch_base,
    components,
    row_count,
    row_numbers,
    row_tiles,
    scaled,
)
from neuronir.passes.lowering.rules.windows import Windows, choose_windows, row_partition
from neuronir.passes.lowering.state import Lowering


def lower_gather(state: Lowering, op: Operation) -> None:
    """Lower gather: rows of a table in HBM by DMA, one index each; indices are clamped as in
    HLO.
    """
    assert isinstance(op, GatherOp)
    operand, indices = state.value(op.operands[0]), state.value(op.operands[1])
    sizes = ints(op.slice_sizes)
    collapsed, start_map = ints(op.collapsed_slice_dims), ints(op.start_index_map)
    batching, index_batching = ints(op.operand_batching_dims), ints(op.start_indices_batching_dims)
    vector_dim = int(op.index_vector_dim.value.data)
    shape = operand.shape
    lead = (*batching, *(d for d in start_map if d not in batching and sizes[d] < shape[d]))
    limits = [n if d in lead else sizes[d] for d, n in enumerate(shape)]
    if limits != list(shape):  # without an index, the window of a dimension begins at 0
        operand = slice_value(operand, [0] * len(shape), limits, [1] * len(shape))
    index_shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    moving = [d for d in lead if d not in batching]
    elements = None
    if start_map == tuple(moving):
        batch = batching, [i - (i > vector_dim) for i in index_batching]
        elements = elements_of(operand.shape, sizes, moving, batch, prod(index_shape))
    if elements is not None and elements.is_faster(state.machine, operand.dtype.size):
        (column,) = components(state, indices, vector_dim, 1)
        order = [*batching, *(d for d in range(len(shape)) if d not in batching)]
        flat = gather_elements(state, moved(operand, order), column, elements)
        state.set(op.results[0], reshape(flat, state.shape(op.results[0])))
        return
    windows = Windows(operand.shape, lead, {d: sizes[d] for d in lead}, prod(index_shape))
    if windows.per_window == 1:
        windows = replace(windows, group=_summed(op, index_shape))
    windows = chosen_windows(state, operand, windows)
    columns = components(state, indices, vector_dim, len(start_map)) if lead else []
    starts = {d: columns[j] for j, d in enumerate(start_map) if d in lead and columns}
    base = batch_base(windows, index_shape, batching, index_batching, vector_dim)
    number = row_numbers(state, windows, starts, base, clamp=True)
    flat = gather_rows(state, operand, windows, number)
    gone = {*collapsed, *batching}
    order = [d for d in (*windows.lead, *windows.rest) if d not in gone]
    value = reshape(flat, (*index_shape, *(sizes[d] for d in order)))
    offset = ints(op.offset_dims)
    kept = [d for d in range(len(shape)) if d not in gone]
    result_shape = state.shape(op.results[0])
    places = [d for d in range(len(result_shape)) if d not in offset]
    targets = [*places, *(offset[kept.index(d)] for d in order)]
    state.set(op.results[0], rename_dims(value, result_shape, targets))


def chosen_windows(state: Lowering, operand: Value, windows: Windows) -> Windows:
    """Return the rows of the windows of `operand` that are faster to transfer."""
    turned = moved(operand, [*windows.lead, *windows.rest])
    there = turned.array is not None or row_major_in_hbm(state, turned) is not None
    return choose_windows(windows, operand.dtype, state.machine, there)


def _summed(op: GatherOp, index_shape: Sequence[int]) -> int:
    """Return how many adjacent rows the only reader of a gather reduces to one, as the entries of
    a bag of embeddings; 1 for other readers.
    """
    result = op.results[0]
    user = result.get_user_of_unique_use()
    if user is None or user.name != "hlo.reduce":
        return 1
    offset = ints(op.offset_dims)
    rank = len(index_shape) + len(offset)
    places = [d for d in range(rank) if d not in offset]
    dims = sorted(integers(user, "dimensions"))
    inner = places[len(places) - len(dims) :]
    return prod(index_shape[len(places) - len(dims) :]) if dims == inner else 1


def gather_rows(state: Lowering, operand: Value, windows: Windows, number: Value) -> Value:
    """Return the rows with the given numbers, [count, row]."""
    _need_addresses(state)
    table = contiguous_in_hbm(state, moved(operand, [*windows.lead, *windows.rest]))
    count, row, dtype = windows.count, windows.row, operand.dtype
    partition = windows.partition(state.machine.partitions)
    flat = new_value((count, row), dtype)
    out = state.allocate(
        merge(dim_atoms((count, row), range(2))),
        tuple((scaled(a, row), s) for a, s in partition),
        dtype,
    )
    chosen = state.converter.ensure(as_vector(number, count), partition, row_count(partition))
    for first, size in row_tiles(partition, count):
        dst = out.at(first * row, size, [(1, row)])
        src = View(table.buffer, 0, 1, ((1, row),), table.offset)
        state.emitter.emit(
            "dma_gather",
            [dst],
            [src, chosen.at(first, size, ())],
            {"row_stride": windows.step * dtype.size, "rows": windows.rows},
        )
    flat.forms.append(out)
    flat.by_rows = True
    return flat


def _need_addresses(state: Lowering) -> None:
    if not state.machine.gather_in_dma:
        raise NeuronError(
            "NCC_EVRF001",
            f"{state.machine.name} has no transfers whose addresses are computed at run time",
            help="use constant positions for slices and updates, and look up whole rows",
        )


def moved(value: Value, order: Sequence[int]) -> Value:
    """Permute the dimensions."""
    if list(order) == list(range(len(value.shape))):
        return value
    shape = [value.shape[d] for d in order]
    if value.array is not None:
        return constant_value(np.ascontiguousarray(value.array.transpose(order)), value.dtype)
    return rename_dims(value, shape, [list(order).index(i) for i in range(len(order))])


def lower_scatter(state: Lowering, op: Operation) -> None:
    """Lower scatter: rows written (or combined) one by one into a copy of the operand in HBM.

    Windows that do not fit are dropped.
    """
    assert isinstance(op, ScatterOp)
    if len(op.operands) != 3:
        raise NeuronError("NCC_EVRF001", f"{source_name(op)}: scatter of several operands")
    operand, indices, updates = (state.value(v) for v in op.operands)
    shape = operand.shape
    window, inserted = ints(op.update_window_dims), ints(op.inserted_window_dims)
    scattered = ints(op.scatter_dims_to_operand_dims)
    batching, index_batching = ints(op.input_batching_dims), ints(op.scatter_indices_batching_dims)
    vector_dim = int(op.index_vector_dim.value.data)
    gone = {*inserted, *batching}
    kept = [d for d in range(len(shape)) if d not in gone]
    extents = dict.fromkeys(range(len(shape)), 1)
    extents.update((d, updates.shape[window[i]]) for i, d in enumerate(kept))
    moving = [d for d in scattered if d not in batching]
    moving += [d for d in range(len(shape)) if d not in moving and d not in batching]
    lead = (*batching, *(d for d in moving if extents[d] < shape[d]))
    index_shape = [n for i, n in enumerate(indices.shape) if i != vector_dim]
    windows = Windows(shape, lead, {d: extents[d] for d in lead}, prod(index_shape))
    windows = chosen_windows(state, operand, windows)
    columns = components(state, indices, vector_dim, len(scattered)) if scattered else []
    starts = {d: columns[j] for j, d in enumerate(scattered) if d in lead}
    fixed = [columns[j] for j, d in enumerate(scattered) if d not in lead]
    base = batch_base(windows, index_shape, batching, index_batching, vector_dim)
    number = row_numbers(state, windows, starts, base, clamp=False, fixed=fixed)
    batch_dims = [d for d in range(len(updates.shape)) if d not in window]
    order = [window[kept.index(d)] for d in (*windows.lead, *windows.rest) if d in kept]
    source = reshape(moved(updates, [*batch_dims, *order]), (windows.count, windows.row))
    combine = _combine(op, operand.dtype)
    ssa = op.results[0]
    state.set(ssa, scatter_rows(state, operand, windows, number, source, combine, ssa))


def scatter_rows(
    state: Lowering,
    operand: Value,
    windows: Windows,
    number: Value,
    source: Value,
    combine: AluOp,
    ssa: SSAValue | None = None,
) -> Value:
    """Combine rows [count, row] into the rows of `operand` with the given numbers, in order.

    The result `ssa` is made where it goes in HBM, if it keeps the order of its dimensions.
    """
    _need_addresses(state)
    shape, dtype = operand.shape, operand.dtype
    order = [*windows.lead, *windows.rest]
    fresh = new_value([shape[d] for d in order], dtype)
    if ssa is None or ssa in state.results.homes or order != sorted(order):
        buffer = state.emitter.variable("scratch", "scratch", fresh.shape, dtype)
        target = hbm_form(buffer, fresh)
    else:
        target = result_in_hbm(state, ssa)
        buffer = target.buffer
    write_all(state, moved(operand, order), target)
    count, row = windows.count, windows.row
    step = windows.step * dtype.size
    partition = row_partition(count, state.machine.partitions)
    rows = tuple((scaled(a, row), s) for a, s in partition)
    form = state.converter.ensure(source, rows, row_count(partition))
    chosen = state.converter.ensure(as_vector(number, count), partition, row_count(partition))
    form, dims = state.converter.beside(source, form, [], dim_atoms((count, row), [1]))
    free = [(d.strides[0], d.size) for d in dims]
    for first, size in row_tiles(partition, count):
        state.emitter.emit(
            "dma_scatter",
            [View(buffer, 0, 1, ((1, row),))],
            [form.at(first * row, size, free), chosen.at(first, size, ())],
            {"row_stride": step, "rows": windows.rows, "accumulate": combine},
        )
    fresh.forms.append(target)
    return fresh if order == sorted(order) else rename_dims(fresh, shape, order)


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
    if not dtype.is_float and dtype is not DType.BOOL and (alu is AluOp.ADD or dtype.size == 4):
        raise NeuronError(
            "NCC_EVRF016",
            f"{source_name(op)}: scatter with {alu.name.lower()} of {dtype.name.lower()} would be "
            "rounded, since transfers combine in fp32",
            help="hlo-decompose makes exact parts of one with less than 2^24 windows",
        )
    return alu
