"""Lower dynamic_slice and dynamic_update_slice: DMAs whose addresses come from registers.

Without registers, or if a program loads too many, indexed rows are selected instead, as for gather
and scatter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.data_movement import DynamicSliceOp, DynamicUpdateSliceOp
from neuronir.dialects.nc.enums import AluOp
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.conversion.memory import (
    contiguous_in_hbm,
    result_in_hbm,
    row_major_in_hbm,
    write_all,
)
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.layouts.layout import Form, row_major
from neuronir.passes.lowering.layouts.values import (
    Value,
    new_value,
    rename_dims,
    reshape,
    slice_value,
)
from neuronir.passes.lowering.rules.indexing import chosen_windows, gather_rows, moved, scatter_rows
from neuronir.passes.lowering.rules.movement import Piece, put_together
from neuronir.passes.lowering.rules.row_numbers import components, row_numbers
from neuronir.passes.lowering.rules.windows import Windows
from neuronir.passes.lowering.state import Lowering

_SAME = ("tile.convert_layout", "hlo.reshape", "hlo.bitcast")
"""Ops whose results are the position that they read."""
_SHARE = 4
"""The part of an engine's registers that slices take: passes that unroll loops copy the loads."""


def lower_dynamic_slice(state: Lowering, op: Operation) -> None:
    """Lower dynamic_slice: a slice if the indices are known, else a transfer with an address that
    is computed at run time.
    """
    assert isinstance(op, DynamicSliceOp)
    source = state.value(op.operands[0])
    sizes = ints(op.slice_sizes)
    starts, known = _starts(state, op.operands[1:], source.shape, sizes)
    if not starts:
        limits = [a + n for a, n in zip(known, sizes, strict=True)]
        state.set(op.results[0], slice_value(source, known, limits, [1] * len(sizes)))
    elif _in_registers(state, starts):
        whole = row_major_in_hbm(state, source) or contiguous_in_hbm(state, source)
        value = new_value(sizes, source.dtype)
        value.forms.append(_part(state, whole, source.shape, sizes, known, starts))
        value.special = source.special
        state.set(op.results[0], value)
    else:
        windows = _windows(state, source, sizes)
        vectors = {d: _vector(state, start) for d, start in starts.items()}
        number = row_numbers(state, windows, vectors, None, clamp=True)
        flat = gather_rows(state, source, windows, number)
        order = [*windows.lead, *windows.rest]
        value = reshape(flat, [sizes[d] for d in order])
        state.set(op.results[0], rename_dims(value, sizes, order))


def lower_dynamic_update_slice(state: Lowering, op: Operation) -> None:
    """Lower dynamic_update_slice: a copy of the operand, overwritten by the update."""
    assert isinstance(op, DynamicUpdateSliceOp)
    source, update = state.value(op.operands[0]), state.value(op.operands[1])
    shape, sizes = source.shape, update.shape
    starts, known = _starts(state, op.operands[2:], shape, sizes)
    if not starts:
        cut = [d for d in range(len(shape)) if sizes[d] != shape[d]]
        pieces = [Piece(source, [0] * len(shape)), Piece(update, known)]
        put_together(state, op, pieces, cut, [source, update])
    elif _in_registers(state, starts):
        result = new_value(shape, source.dtype)
        target = result_in_hbm(state, op.results[0])
        write_all(state, source, target)
        write_all(state, update, _part(state, target, shape, sizes, known, starts))
        result.forms.append(target)
        result.special = source.special or update.special
        state.set(op.results[0], result)
    else:
        windows = _windows(state, source, sizes)
        vectors = {d: _vector(state, start) for d, start in starts.items()}
        number = row_numbers(state, windows, vectors, None, clamp=True)
        rows = moved(update, [*windows.lead, *windows.rest])
        rows = reshape(rows, (windows.count, windows.row))
        result = scatter_rows(state, source, windows, number, rows, AluOp.BYPASS)
        state.set(op.results[0], result)


def _starts(
    state: Lowering, indices: Sequence[SSAValue], shape: tuple[int, ...], sizes: Sequence[int]
) -> tuple[dict[int, SSAValue], list[int]]:
    """Return the starts that are known only at run time, by dimension, and the others, clamped."""
    known: list[int] = []
    starts: dict[int, SSAValue] = {}
    for d, (ssa, n, size) in enumerate(zip(indices, shape, sizes, strict=True)):
        value = state.value(ssa)
        known.append(max(0, min(int(value.scalar or 0), n - size)))
        if value.scalar is None and n != size:
            starts[d] = ssa
    return starts, known


def _in_registers(state: Lowering, starts: Mapping[int, SSAValue]) -> bool:
    """Return whether there are registers for these starts."""
    loads = state.emitter.register_loads + len(starts)
    return loads <= state.machine.registers // _SHARE


def _part(
    state: Lowering,
    whole: Form,
    shape: tuple[int, ...],
    sizes: Sequence[int],
    known: Sequence[int],
    starts: Mapping[int, SSAValue],
) -> Form:
    """Return a rectangle of a row-major array in HBM, which begins at runtime positions."""
    first = [0 if d in starts else at for d, at in enumerate(known)]
    last = [a + n for a, n in zip(first, sizes, strict=True)]
    value = slice_value(
        new_value(shape, view_dtype(whole.at(0, 1, ()))), first, last, [1] * len(shape)
    )
    assert value.from_source is not None
    form = value.from_source(whole)
    assert form is not None  # row-major
    strides = row_major(shape)
    moves = [
        (register_of(state, start, shape[d] - sizes[d]), strides[d]) for d, start in starts.items()
    ]
    return replace(form, indices=(*form.indices, *moves))


def register_of(state: Lowering, start: SSAValue, last: int) -> SSAValue:
    """Load a position, clamped to 0 ... last, into a register."""

    def load() -> View:
        form = state.converter.ensure(_vector(state, start), (), 1)
        return form.at(0, 1, ((1, 1),))

    origin = start
    while isinstance(origin.owner, Operation) and origin.owner.name in _SAME:
        origin = origin.owner.operands[0]
    return state.emitter.register(origin, load, last)


def _vector(state: Lowering, start: SSAValue) -> Value:
    """Return a position as an i32."""
    return components(state, state.value(start), 0, 1)[0]


def _windows(state: Lowering, source: Value, sizes: Sequence[int]) -> Windows:
    """Return the one window of a slice."""
    shape = source.shape
    lead = tuple(d for d in range(len(shape)) if sizes[d] != shape[d])
    return chosen_windows(state, source, Windows(shape, lead, {d: sizes[d] for d in lead}, 1))
