"""Lower ops that move data: views if a layout allows it, else copies, else through HBM."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import cast

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.constants import IotaOp
from neuronir.dialects.hlo.data_movement import (
    BroadcastOp,
    ConcatenateOp,
    PadOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.conversion.memory import (
    contiguous_in_hbm,
    holds,
    result_in_hbm,
    write_all,
)
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    dense,
    dim_atoms,
    join,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.mirror import mirror, touches
from neuronir.passes.lowering.layouts.natural import divides, in_dimensions
from neuronir.passes.lowering.layouts.values import (
    Partition,
    Parts,
    Value,
    constant_value,
    new_value,
    rename,
    rename_dims,
    reshape,
    scalar_value,
    slice_value,
)
from neuronir.passes.lowering.layouts.views import chunks, walked
from neuronir.passes.lowering.products.in_place import too_large
from neuronir.passes.lowering.results import store_piece
from neuronir.passes.lowering.rules.empty import broadcast_scalar
from neuronir.passes.lowering.state import Lowering


def lower_reshape(state: Lowering, op: Operation) -> None:
    """Lower reshape, which keeps the element numbering."""
    source = state.value(op.operands[0])
    shape = state.shape(op.results[0])
    view = reshape(source, shape)
    if source.array is not None:
        view = constant_value(source.array.reshape(shape), source.dtype)
    state.set(op.results[0], view)


def lower_bitcast_convert(state: Lowering, op: Operation) -> None:
    """Lower bitcast_convert: the same bytes as another type; through HBM if the width changes."""
    source = state.value(op.operands[0])
    shape, dtype = state.shape(op.results[0]), state.dtype(op.results[0])
    if source.scalar is not None or source.array is not None:
        one = source.array if source.array is not None else np.full(source.shape, source.scalar)
        array = np.ascontiguousarray(one.astype(source.dtype.numpy, copy=False))
        value = constant_value(array.reshape(-1).view(dtype.numpy).reshape(shape), dtype)
        value.special = dtype.is_float
        state.set(op.results[0], value)
        return
    if dtype.size != source.dtype.size:
        memory = contiguous_in_hbm(state, source)
        value = new_value(shape, dtype)
        whole = dense(value.support)
        offset = memory.offset * source.dtype.size // dtype.size
        name = dtype.name.lower()
        value.forms.append(Form(memory.buffer, (), whole, 0, offset, name, 1, True))
        value.special = dtype.is_float
        state.set(op.results[0], value)
        return
    name = dtype.name.lower()
    if not any(holds(form, source) for form in state.converter.source_forms(source)):
        partition = state.default_partition(source.support)
        state.converter.ensure(source, partition, span(partition))
    value = Value(
        shape,
        dtype,
        source.support,
        source=source,
        from_source=lambda form: replace(form, dtype=name) if holds(form, source) else None,
        to_source=lambda a: None,  # PE transposes of numbers would not keep all bits
        special=dtype.is_float,
    )
    state.set(op.results[0], value)


def lower_transpose(state: Lowering, op: Operation) -> None:
    """Lower transpose: atoms are renumbered."""
    source = state.value(op.operands[0])
    permutation = ints(cast(TransposeOp, op).permutation)
    if source.array is not None:
        state.set(op.results[0], constant_value(source.array.transpose(permutation), source.dtype))
        return
    dims = [permutation.index(i) for i in range(len(permutation))]
    state.set(op.results[0], rename_dims(source, state.shape(op.results[0]), dims))


def lower_broadcast(state: Lowering, op: Operation) -> None:
    """Lower broadcast: a value that is constant along the new dimensions."""
    source = state.value(op.operands[0])
    shape = state.shape(op.results[0])
    if source.scalar is not None:
        state.set(op.results[0], scalar_value(shape, source.dtype, source.scalar))
        return
    state.set(op.results[0], rename_dims(source, shape, ints(cast(BroadcastOp, op).dimensions)))


def lower_slice(state: Lowering, op: Operation) -> None:
    """Lower slice: a view of a rectangle."""
    assert isinstance(op, SliceOp)
    source = state.value(op.operands[0])
    view = slice_value(source, ints(op.start_indices), ints(op.limit_indices), ints(op.strides))
    if source.scalar is not None:
        view = scalar_value(view.shape, source.dtype, source.scalar)
    elif source.array is not None and view.array is not None:
        view = constant_value(view.array, source.dtype)
    state.set(op.results[0], view)


@dataclass(frozen=True)
class Piece:
    """A rectangle of a result: its contents, its start, and its steps (1: dense)."""

    value: Value
    starts: Sequence[int]
    steps: Sequence[int] | None = None

    def window(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Return (starts, limits, steps) of the rectangle."""
        shape = self.value.shape
        steps = self.steps or [1] * len(shape)
        ends = zip(self.starts, shape, steps, strict=True)
        return self.starts, [a + (n - 1) * s + 1 for a, n, s in ends], steps


def put_together(
    state: Lowering,
    op: Operation,
    pieces: Sequence[Piece],
    cut: Sequence[int],
    like: Sequence[Value],
) -> None:
    """Write a result of pieces, split along the dimensions `cut`, one by one.

    The result has the layout of one of `like`, if possible.
    """
    result = op.results[0]
    shape, dtype = state.shape(result), state.dtype(result)
    want = place_partition(state, op, like, cut)
    if too_large(state, shape, want, dtype):
        _put_together_in_hbm(state, op, pieces)
        return
    target = state.allocate(merge(dim_atoms(shape, range(len(shape)))), want, dtype)
    for piece in pieces:
        copy_into(state, target, shape, piece.value, piece.starts, piece.steps)
    _finish(state, op, target)


def _put_together_in_hbm(state: Lowering, op: Operation, pieces: Sequence[Piece]) -> None:
    """Write a result that is too large for SBUF, with split dimensions on the free axis.

    Each piece is written to its position in HBM.
    """
    shape, dtype = state.shape(op.results[0]), state.dtype(op.results[0])
    target = result_in_hbm(state, op.results[0])
    whole = new_value(shape, dtype)
    for piece in pieces:
        if piece.value.size == 0:
            continue
        place: Form | None = target
        if piece.value.shape != shape:
            window = slice_value(whole, *piece.window())
            assert window.from_source is not None
            place = window.from_source(target)
        assert place is not None  # an array in HBM is split along its own dimensions
        write_all(state, piece.value, place)
    _finish(state, op, target)


def place_partition(
    state: Lowering, op: Operation, sources: Sequence[Value], cut: Sequence[int]
) -> Partition:
    """Return the layout of a result of pieces along the dimensions `cut`, which are on the free
    axis.
    """
    result = op.results[0]
    shape = state.shape(result)
    support = merge(dim_atoms(shape, range(len(shape))))
    avoid = dim_atoms(shape, cut)
    want = _layout_of(state, sources, shape, cut) or state.demand(result).best()
    if want is None or any(a.stride < v.end and v.stride < a.end for a, _ in want for v in avoid):
        want = state.default_partition(support, avoid)
    if not divides([a for a, _ in want], shape):
        rest = [d for d in range(len(shape)) if d not in cut]
        want = in_dimensions(shape, rest, state.machine.partitions)
    return want


def _layout_of(
    state: Lowering, sources: Sequence[Value], shape: Sequence[int], cut: Sequence[int]
) -> Partition | None:
    """Return the layout of the largest on-chip piece, in the numbering of the result.

    Returns None if one of the dimensions `cut` is on partitions.
    """
    for piece in sorted(sources, key=lambda v: -v.size):
        value = piece.lazy[0] if piece.lazy is not None and not piece.forms else piece
        if value.scalar is not None or value.array is not None or value.shape != piece.shape:
            continue
        pairs = [(d, d) for d, n in enumerate(shape) if d not in cut and n > 1]
        old, new = row_major(value.shape), row_major(shape)
        for form in state.converter.source_forms(value):
            if not form.usable:
                continue
            cuts = {c for s, n in zip(old, value.shape, strict=True) for c in (s, s * n)}
            parts = [
                (rename(b, value.shape, old, new, pairs), s * (b.stride // a.stride))
                for a, s in form.partition
                for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
            ]
            if all(a is not None for a, _ in parts):
                return join([(a, s) for a, s in parts if a is not None])
    return None


def copy_into(
    state: Lowering,
    target: Form,
    shape: Sequence[int],
    piece: Value,
    starts: Sequence[int],
    steps: Sequence[int] | None = None,
) -> None:
    """Copy `piece` to the rectangle of `target` (of `shape`) that starts at `starts`."""
    whole = Value(tuple(shape), piece.dtype, merge(dim_atoms(shape, range(len(shape)))), [target])
    window = slice_value(whole, *Piece(piece, starts, steps).window())
    assert window.from_source is not None
    out = window.from_source(target)
    if out is None:
        raise NeuronError("NIR_LOW004", "a layout cuts a piece")
    count = out.partitions
    if piece.scalar is not None:
        dims = walked([out], [a for a, _ in out.free])
        for chunk in chunks(dims, count, 4, state.machine.max_free_sbuf):
            state.emitter.memset(chunk.view(out, 0), float(piece.scalar))
        return
    form = state.converter.ensure(piece, join(out.partition), count)
    form, dims = state.converter.beside(piece, form, [out], [a for a, _ in out.free])
    for chunk in chunks(dims, count, 4, state.machine.max_free_psum):
        state.emitter.copy(chunk.view(out, 0), chunk.view(form, 1))


def lower_concatenate(state: Lowering, op: Operation) -> None:
    """Lower concatenate: each operand is copied to its position, unless it was written there."""
    assert isinstance(op, ConcatenateOp)
    d = int(op.dimension.value.data)
    shape = state.shape(op.results[0])
    if _in_pieces(state, op):
        return
    sources = [state.value(v) for v in op.operands]
    lows = accumulate((v.shape[d] for v in sources), initial=0)
    pieces = [
        Piece(v, [low if i == d else 0 for i in range(len(shape))])
        for v, low in zip(sources, lows, strict=False)
    ]
    target = state.results.joined.pop(op, None)
    if target is None:
        want = place_partition(state, op, sources, [d])
        if too_large(state, shape, want, state.dtype(op.results[0])):
            _put_together_in_hbm(state, op, pieces)
            return
        support = merge(dim_atoms(shape, range(len(shape))))
        target = state.allocate(support, want, state.dtype(op.results[0]))
    for piece in pieces:
        there = any(form.buffer is target.buffer for form in piece.value.forms)
        if piece.value.size and not there:
            copy_into(state, target, shape, piece.value, piece.starts)
    _finish(state, op, target)


def _in_pieces(state: Lowering, op: ConcatenateOp) -> bool:
    """Store the rest of a result that is stored piece by piece; return False for other results."""
    for piece in op.operands:
        store_piece(state, piece)
    target = state.results.stored.get(op)
    if target is not None:
        _finish(state, op, target)
    return target is not None


def lower_pad(state: Lowering, op: Operation) -> None:
    """Lower pad: the padding value everywhere, then the operand (or a slice of it) in its
    position.
    """
    assert isinstance(op, PadOp)
    source, value = state.value(op.operands[0]), state.value(op.operands[1])
    low, high = ints(op.edge_padding_low), ints(op.edge_padding_high)
    inner = ints(op.interior_padding)
    shape = state.shape(op.results[0])
    starts, limits, place = [], [], []
    for n, lo, hi, i in zip(source.shape, low, high, inner, strict=True):
        step = i + 1
        first = max(0, -(lo // step)) if lo < 0 else 0
        last = n
        extent = (n - 1) * step + 1 + lo + hi
        while last > first and lo + (last - 1) * step >= extent:
            last -= 1
        starts.append(first)
        limits.append(last)
        place.append(lo + first * step)
    if any(b <= a for a, b in zip(starts, limits, strict=True)):
        broadcast_scalar(state, op.results[0], value)
        return
    piece = slice_value(source, starts, limits, [1] * len(starts))
    if starts == [0] * len(starts) and limits == list(source.shape):
        piece = source
    cut = [d for d in range(len(shape)) if low[d] or high[d] or inner[d]]
    if value.scalar is None:
        fill = rename_dims(value, shape, [])
    else:
        fill = scalar_value(shape, value.dtype, value.scalar)
    pieces = [Piece(fill, [0] * len(shape)), Piece(piece, place, [i + 1 for i in inner])]
    put_together(state, op, pieces, cut, [source])


def lower_reverse(state: Lowering, op: Operation) -> None:
    """Lower reverse: negative strides."""
    assert isinstance(op, ReverseOp)
    source = state.value(op.operands[0])
    shape = source.shape
    dims = [d for d in ints(op.dimensions) if shape[d] > 1]
    if source.array is not None:
        flipped = source.array[
            tuple(slice(None, None, -1 if d in dims else None) for d in range(len(shape)))
        ]
        state.set(op.results[0], constant_value(flipped.copy(), source.dtype))
        return
    mirrored = dim_atoms(shape, dims)

    def forward(form: Form) -> Form | None:
        return mirror(form, mirrored)

    def back(a: Atom) -> Parts | None:
        return None if touches(a, mirrored) else [(a, 1)]

    view = Value(
        shape,
        source.dtype,
        source.support,
        scalar=source.scalar,
        source=source,
        from_source=forward,
        to_source=back,
    )
    state.set(op.results[0], view)


def lower_iota(state: Lowering, op: Operation) -> None:
    """Lower iota: a constant vector, as a broadcast."""
    assert isinstance(op, IotaOp)
    d = int(op.iota_dimension.value.data)
    shape = state.shape(op.results[0])
    dtype = state.dtype(op.results[0])
    vector = constant_value(np.arange(shape[d]).astype(dtype.numpy), dtype)
    if vector.scalar is not None:
        state.set(op.results[0], scalar_value(shape, dtype, vector.scalar))
        return
    state.set(op.results[0], rename_dims(vector, shape, [d]))


def _finish(state: Lowering, op: Operation, form: Form) -> None:
    shape = state.shape(op.results[0])
    value = new_value(shape, state.dtype(op.results[0]))
    value.forms.append(form)
    state.set(op.results[0], value)
