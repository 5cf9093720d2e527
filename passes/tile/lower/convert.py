"""tile.convert_layout: loads, stores, transposes, copies, and partitions that change places."""

from dataclasses import dataclass, replace
from hashlib import sha256
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.ops import ConvertLayoutOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense, merge, split_at
from neuronir.passes.lowering.layouts.views import chunks, numbers_of, walked
from neuronir.passes.tile.layouts.conversions import Way, way
from neuronir.passes.tile.layouts.maps import everywhere, own, positions, span
from neuronir.passes.tile.lower.constants import constant_form
from neuronir.passes.tile.lower.memory import (
    copy,
    in_hbm,
    result_in_hbm,
    store,
    store_form,
    transfer,
)
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Number


@register_lowering("tile.convert_layout")
def lower_convert_layout(state: Lower, op: Operation) -> None:
    """Bring a value into another layout."""
    assert isinstance(op, ConvertLayoutOp)
    source, result = op.source, op.result
    if isinstance(source.owner, Operation) and source.owner.name == "hlo.constant":
        state.set(result, constant_form(state, source.owner, result))
        return
    if layout_of(result) is None:
        state.memory[result] = result_in_hbm(state, result)
        store(state, source, state.memory[result])
        return
    if source in state.memory:
        form = state.allocate(result)
        transfer(state, form, state.memory[source], load=True)
        state.set(result, form)
        return
    found = state.get(source)
    if isinstance(found, Number):  # a view of it may have a layout with gaps
        state.set(result, state.held(result, found))
        return
    state.set(result, converted(state, state.held(source), source, result))


def converted(state: Lower, form: Form, value: SSAValue, result: SSAValue) -> Form:
    """A copy of a value in the layout of `result`."""
    where, dtype, size = state.place(result), state.dtype(value), prod(shape_of(value))
    source = form.partition or everywhere(size, form.copies)
    how = way(state.machine, size, dtype, source, where.partition, value in state.special)
    target = state.allocate(result)
    if how is Way.SAME:
        copy(state, form, target)
    elif how is Way.SELECT and not form.start:
        if value in state.special:
            select_bits(state, form, target, dtype)
        else:
            select(state, form, target, dtype)
    elif how in TURNS and _turns(once := _once(form, size), target, how):
        whole = target
        if _dims(target, [a for a, _ in form.partition]) is None:  # a part that lies in pieces
            whole = state.buffer(where, size, dtype)
        TURNS[how](state, once, whole, dtype)
        copy(state, whole, target)
    else:
        through_memory(state, form, target, value)
    return target


def _once(form: Form, size: int) -> Form:
    """A copy of `size` elements without what repeats it on other partitions."""
    return replace(form, partition=own(form.partition, size), copies=1)


def through_memory(state: Lower, form: Form, target: Form, value: SSAValue) -> None:
    """A store and a load."""
    memory = in_hbm(state, "scratch", "scratch", value)
    store_form(state, form, value, memory)
    transfer(state, target, memory, load=True)


def select(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Partitions that change places or repeat: a product with zeros and ones."""
    emitter, m = state.emitter, state.machine
    rows, n = form.partitions if form.partition else 1, target.partitions
    chosen = np.zeros((rows, n), dtype.numpy)
    for q, number in enumerate(_numbers(target)):
        chosen[form.locate(number)[0] - form.start if form.partition else 0, q] = 1
    name = f"select.{dtype.name}.{rows}.{n}.{sha256(chosen.tobytes()).hexdigest()[:16]}"
    matrix, base = state.constants.keep(name, chosen, dtype)
    stationary = View(matrix, 0, rows, ((1, n),), base, (), 0, dtype.name.lower())
    dims = walked([target, form], [a for a, _ in target.free])
    for piece in chunks(dims, 1, 3, m.psum_bank_bytes // 4):
        psum = state.psum(n, piece.elements)
        moving = replace(piece.view(form, 1), partitions=rows)
        emitter.matmul(psum, stationary, moving, False)
        packed = replace(psum, free=_packed([d.size for d in piece.dims]))
        emitter.copy(replace(piece.view(target, 0), partitions=n), packed)


def select_bits(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """The same for what a product would spoil, such as the sign of zero: 16 bits at a time, as
    whole numbers."""
    halves, kind = max(1, dtype.size // 2), DType.BF16 if dtype.size == 1 else DType.F32
    bits = (DType.U8 if dtype.size == 1 else DType.U16).name.lower()
    source, goal = (replace(_in_halves(f, halves), dtype=bits) for f in (form, target))
    atoms = [a for a, _ in form.free]
    for half in range(halves):
        buffer = state.emitter.sbuf(form.partitions, max(1, form.elements), kind)
        numbers = Form(buffer, form.partition, dense(atoms), copies=form.copies)
        copy(state, replace(source, offset=source.offset + half), numbers)
        select(state, numbers, replace(goal, offset=goal.offset + half), kind)


def _numbers(form: Form) -> list[int]:
    """The element with which each partition begins."""
    if not form.partition:
        return [0] * form.partitions
    return numbers_of([a for a, _ in form.partition])


def _packed(sizes: list[int]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    stride = 1
    for n in reversed(sizes):
        out.insert(0, (stride, n))
        stride *= n
    return tuple(out) or ((1, 1),)


MOST_COLUMNS = 4
"""Digits of what PE transposes at once: the dimensions of an access."""


def _turns(form: Form, target: Form, how: Way) -> bool:
    """Whether a copy, as it lies, is transposed as a layout says."""
    if form.start or form.partitions != max(1, positions(form.partition)):
        return False
    columns = _dims(form, [a for a, _ in target.partition])
    most = MOST_COLUMNS if how is Way.TRANSPOSE else 2  # halves take dimensions, too
    if columns is None or len(columns) > most:
        return False
    return how is not Way.BLOCKS or len(columns) <= 1


@dataclass(frozen=True)
class Turn:
    """The tiles of a transpose: element numbers where they begin, rows and columns of each, and the
    digits that were on partitions."""

    jobs: list[int]
    rows: int
    wide: int
    old: list[Atom]
    columns: list[tuple[int, int]]  # (stride, size) in what is transposed


def _turn(form: Form, target: Form) -> Turn:
    old, new = [a for a, _ in form.partition], [a for a, _ in target.partition]
    cuts = {c for a in (*old, *new) for c in (a.stride, a.end)}
    free = [b for a, _ in target.free for b in split_at(a, cuts) or (a,)]
    rest = [b for b in free if not any(n.stride <= b.stride and b.end <= n.end for n in old)]
    columns = _dims(form, new)
    assert columns is not None
    jobs = numbers_of(merge_in_order(rest))
    return Turn(jobs, form.partitions, span(target.partition), old, columns)


def transpose(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Digits of the free axis go to partitions, and those that were there to the free axis, tile by
    tile by PE."""
    if dtype.size == 1:
        if dtype.is_float:  # as whole numbers, which keep the sign of zero and NaN
            form, target = (replace(f, dtype=DType.U8.name.lower()) for f in (form, target))
        form, dtype = _widened(state, form), DType.BF16
    turn = _turn(form, target)
    rows, wide = turn.rows, turn.wide
    per_bank = max(1, state.machine.psum_bank_bytes // dtype.size // rows)
    for group in _runs([target], turn.jobs, per_bank):
        psum = state.psum(wide, len(group) * rows, dtype)
        for i, number in enumerate(group):
            out = replace(psum, free=((1, rows),), offset=i * rows)
            src = form.at(number, rows, turn.columns)
            state.emitter.emit("transpose", [out], [src], {}, Engine.PE)
        dims = _dims(target, turn.old)
        assert dims is not None
        if len(group) > 1:
            dims.insert(0, (_step(target, group), len(group)))
        view = target.at(group[0], wide, dims)
        state.emitter.copy(view, replace(psum, free=_packed([n for _, n in dims])))


def transpose_halves(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """The same for what PE would spoil: 16 bits at a time, as whole numbers in fp32."""
    halves = dtype.size // 2
    form, target = _in_halves(form, halves), _in_halves(target, halves)
    turn = _turn(form, target)
    rows, wide = turn.rows, turn.wide
    dims = _dims(target, turn.old)
    assert dims is not None
    columns = 1
    for _, n in turn.columns:
        columns *= n
    per_bank = max(1, state.machine.psum_bank_bytes // 4 // (rows * halves))
    for group in _runs([target, form], turn.jobs, per_bank):
        number, count = group[0], len(group)
        buffer = state.emitter.sbuf(rows, count * halves * columns, DType.F32)
        outer = [(_step(form, group), count)] if count > 1 else []
        source = form.at(number, rows, [*outer, *_half(halves), *turn.columns])
        packed = _packed([n for _, n in source.free])
        state.emitter.copy(View(buffer, 0, rows, packed), source)
        psum = state.psum(wide, count * halves * rows)
        for i in range(count * halves):
            out = replace(psum, free=((1, rows),), offset=i * rows)
            src = View(buffer, 0, rows, ((1, columns),), i * columns)
            state.emitter.emit("transpose", [out], [src], {}, Engine.PE)
        outer = [(_step(target, group), count)] if count > 1 else []
        view = target.at(number, wide, [*outer, *_half(halves), *dims])
        state.emitter.copy(view, replace(psum, free=_packed([n for _, n in view.free])))


def _half(halves: int) -> list[tuple[int, int]]:
    return [(1, halves)] if halves > 1 else []


def _in_halves(form: Form, halves: int) -> Form:
    """A copy seen as numbers of 16 bits."""
    return replace(
        form,
        free=tuple((a, s * halves) for a, s in form.free),
        offset=form.offset * halves,
        dtype=DType.U16.name.lower(),
        indices=tuple((v, k * halves) for v, k in form.indices),
    )


def transpose_blocks(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """The same by DVE, in blocks of 32 x 32."""
    turn = _turn(form, target)
    for number in turn.jobs:
        out = target.at(number, turn.wide, _dims(target, turn.old) or ((1, 1),))
        src = form.at(number, turn.rows, turn.columns or ((1, 1),))
        state.converter.transpose_blocks(out, src, turn.wide, turn.rows)


TURNS = {
    Way.TRANSPOSE: transpose,
    Way.HALVES: transpose_halves,
    Way.BLOCKS: transpose_blocks,
}
"""How digits of the free axis and of partitions change places."""


def _widened(state: Lower, form: Form) -> Form:
    """A copy in bf16, which holds what has one byte exactly."""
    buffer = state.emitter.sbuf(form.partitions, max(1, form.elements), DType.BF16)
    wide = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
    copy(state, form, wide)
    return wide


def _dims(form: Form, atoms: list[Atom]) -> list[tuple[int, int]] | None:
    """(stride, size) of digits on the free axis of a copy, cut where its own are; None where one is
    not there."""
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    dims: list[tuple[int, int]] = []
    for whole in atoms:
        for a in split_at(whole, cuts) or (whole,):
            stride = form.stride(a)
            if stride is None:
                return None
            if dims and dims[-1][0] == stride * a.size:
                dims[-1] = (stride, dims[-1][1] * a.size)
            else:
                dims.append((stride, a.size))
    return dims


def merge_in_order(atoms: list[Atom]) -> tuple[Atom, ...]:
    """Digits outermost first, neighbours joined."""
    return merge(sorted(atoms, key=lambda a: -a.stride))


def _runs(forms: list[Form], jobs: list[int], most: int) -> list[list[int]]:
    """Jobs that lie at equal distances in some copies, as many as fit in a bank."""
    groups: list[list[int]] = []
    for number in jobs:
        if groups and len(groups[-1]) < most and _goes_on(forms, groups[-1], number):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def _goes_on(forms: list[Form], group: list[int], number: int) -> bool:
    if len(group) == 1:
        return True
    return all(
        form.locate(number)[1] - form.locate(group[-1])[1] == _step(form, group) for form in forms
    )


def _step(form: Form, group: list[int]) -> int:
    """The distance of the first two jobs of a group."""
    return form.locate(group[1])[1] - form.locate(group[0])[1]
