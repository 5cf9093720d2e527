"""Lower tile.convert_layout: loads, stores, transposes, copies, and partition changes."""

from dataclasses import replace
from hashlib import sha256
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.ops import ConvertLayoutOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense
from neuronir.passes.lowering.layouts.views import chunks, numbers_of, packed, plan, walked
from neuronir.passes.tile.layouts.conversions import Parts, Way, way
from neuronir.passes.tile.layouts.maps import (
    Partition,
    everywhere,
    in_order,
    own,
    positions,
    repeats,
)
from neuronir.passes.tile.layouts.place import Place, place
from neuronir.passes.tile.lower.constants import constant_form
from neuronir.passes.tile.lower.dot import read_from_psum
from neuronir.passes.tile.lower.margins import defer_store, load_padded
from neuronir.passes.tile.lower.memory import (
    copy,
    in_hbm,
    result_in_hbm,
    store,
    store_form,
    target_type,
    transfer,
)
from neuronir.passes.tile.lower.stacks import copy_stacked
from neuronir.passes.tile.lower.staging import staged
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.turns import (
    TURNS,
    Transposed,
    as_parts,
    dims_of,
    may_turn,
)
from neuronir.passes.tile.lower.values import Lazy, Number


@register_lowering("tile.convert_layout")
def lower_convert_layout(state: Lower, op: Operation) -> None:
    """Convert a value to another layout."""
    assert isinstance(op, ConvertLayoutOp)
    source, result = op.source, op.result
    if isinstance(source.owner, Operation) and source.owner.name == "hlo.constant":
        state.set(result, constant_form(state, source.owner, result))
        return
    if source in state.padded:
        load_padded(state, op)
        return
    if layout_of(result) is None:
        if defer_store(state, op):
            return
        state.memory[result] = result_in_hbm(state, result)
        store(state, source, state.memory[result])
        return
    if source in state.memory:
        form = state.allocate(result, _loaded_type(state, op))
        piece = state.hooks.destination(state, result)
        if piece is not None and piece.buffer is form.buffer:
            # The op that assembles the pieces copies one that is loaded elsewhere.
            apart = staged(state, form, state.memory[source], state.dtype(result))
            form = apart or form
        if not _loaded_once(state, form, state.memory[source], op):
            transfer(state, form, state.memory[source], load=True)
        state.set(result, form)
        return
    found = state.get(source)
    if isinstance(found, Number):  # a view of it may have a layout with gaps
        state.set(result, state.held(result, found))
        return
    form = state.held(source)
    transposed = _transposed(state, op, form)
    if transposed is not None:
        state.values[result] = Lazy(transposed, (), DType.F32)
        return
    state.set(result, converted(state, form, source, result))


WIDENING = frozenset(
    ("hlo.add", "hlo.subtract", "hlo.multiply", "hlo.maximum", "hlo.minimum", "hlo.reduce")
) | frozenset(ACTIVATIONS)
"""Ops whose instructions read a narrow float as they read its conversion to fp32."""


def _loaded_type(state: Lower, op: ConvertLayoutOp) -> DType:
    """Return the element type of a loaded copy: that of HBM, if all readers widen it by themselves.

    A transfer takes the time of its wider side. Per-partition scalars, which must be fp32, are
    values that a view repeats.
    """
    wide, narrow = state.dtype(op.result), target_type(state.memory[op.source])
    if wide is not DType.F32 or narrow not in (DType.BF16, DType.F16):
        return wide
    where, size = state.place(op.result), prod(shape_of(op.result))
    if repeats(where.partition, size) or prod(a.size for a, _ in where.free) == 1:
        return wide
    readers = [use.operation for use in op.result.uses]
    return narrow if all(reader.name in WIDENING for reader in readers) else wide


MOST_TRANSFERS = 8
"""Limit of transfers of a copy with repeats, each of which an engine triggers."""


def _loaded_once(state: Lower, form: Form, memory: Form, op: ConvertLayoutOp) -> bool:
    """Load a copy without its repeats and repeat it with PE, if a load with repeats would take many
    transfers.
    """
    where, size = state.place(op.result), prod(shape_of(op.result))
    if not repeats(where.partition, size):
        return False
    if transfers(where.partition, size) <= MOST_TRANSFERS:
        return False
    pairs: list[tuple[Atom, int]] = []
    step = 1
    for a, _ in reversed(own(where.partition, size)):
        pairs.insert(0, (a, step))
        step *= a.size
    partition, dtype = in_order(pairs), state.dtype(op.result)
    how = way(state.machine, size, dtype, partition, where.partition, False)
    if how is not Way.SELECT:
        return False
    once = Place(partition, where.free)
    loaded = state.buffer(once, size, dtype)
    transfer(state, loaded, memory, load=True)
    repeat = select_bits if op.source in state.special else select
    repeat(state, loaded, form, dtype)
    return True


def transfers(partition: Partition, size: int) -> int:
    """Return how many transfers move a value of `size` elements: each takes partitions of one
    stride in HBM.
    """
    rows, apart, count = 1, 0, 1
    for a, step in reversed(partition):
        stride = a.stride if a.stride < size else 0
        if rows == 1 and count == 1 and step == 1:
            rows, apart = a.size, stride
        elif count == 1 and step == rows and stride == apart * rows:
            rows *= a.size
        else:
            count *= a.size
    return count


def _transposed(state: Lower, op: ConvertLayoutOp, form: Form) -> Transposed | None:
    """Return a PSUM-resident PE transpose for its single reader; None for other conversions."""
    value, result, size = op.source, op.result, prod(shape_of(op.source))
    if state.dtype(value) is not DType.F32 or not read_from_psum(state, result):
        return None
    target = state.place(result).form(result, size)
    source = form.partition or everywhere(size, form.copies)
    how = way(state.machine, size, DType.F32, source, target.partition, value in state.special)
    once = _once(form, size)
    if how is not Way.TRANSPOSE or not may_turn(once, target, how):
        return None
    if dims_of(target, [a for a, _ in once.partition]) is None:
        return None
    return Transposed(state, op, once, target)


def converted(state: Lower, form: Form, value: SSAValue, result: SSAValue) -> Form:
    """Copy a value to the layout of `result`."""
    where, dtype, size = state.place(result), state.dtype(value), prod(shape_of(value))
    source = form.partition or everywhere(size, form.copies)
    how = way(state.machine, size, dtype, source, where.partition, value in state.special)
    target = state.allocate(result)
    if how is Way.SAME:
        if plan([target, form], [a for a, _ in target.free]) is None:
            # a part with gaps, and digits that cover parts of two of its dimensions
            whole = state.buffer(place(shape_of(value), where.partition), size, dtype)
            copy(state, form, whole)
            form = whole
        copy(state, form, target)
    elif how is Way.SELECT and not form.start:
        if value in state.special:
            select_bits(state, form, target, dtype)
        else:
            select(state, form, target, dtype)
    elif how in TURNS and (once := _turnable(state, _once(form, size), size, target, how, dtype)):
        whole, old = target, [a for a, _ in once.partition]
        if dims_of(whole, old) is None:  # a part with gaps
            whole = state.buffer(where, size, dtype)
        if dims_of(whole, old) is None:  # digits of an order that cuts those of the source
            whole = state.buffer(place((size,), where.partition), size, dtype)
        TURNS[how](state, once, whole, dtype)
        copy(state, whole, target)
    elif how is not Way.STACK or not copy_stacked(state, form, target, size):
        through_memory(state, form, target, value)
    return target


def _turnable(
    state: Lower, form: Form, size: int, target: Form, how: Way, dtype: DType
) -> Form | None:
    """Return a copy of `size` elements that can be transposed to a layout, or None.

    If the free digits of `form` have an order in which columns have no stride, this is a new copy
    with its digits in the order of the elements. It takes an instruction or two, a transfer of
    single elements takes a descriptor each. A copy of which several elements of the value are one
    has no such order.
    """
    if may_turn(form, target, how):
        return form
    if positions(form.partition) * form.elements != size:
        return None
    where = place((size,), form.partition)
    if form.start or not may_turn(where.form(form.buffer, size), target, how):
        return None
    ordered = state.buffer(where, size, dtype)
    copy(state, form, ordered)
    return ordered


def _once(form: Form, size: int) -> Form:
    """Return a copy of `size` elements without repeats on other partitions."""
    return replace(form, partition=own(form.partition, size), copies=1)


def through_memory(state: Lower, form: Form, target: Form, value: SSAValue) -> None:
    """Lower to a store and a load."""
    memory = _by_partition(state, form, value)
    if memory is None:
        memory = in_hbm(state, "scratch", "scratch", value)
        store_form(state, form, shape_of(value), memory)
    transfer(state, target, memory, load=True)


def _by_partition(state: Lower, form: Form, value: SSAValue) -> Form | None:
    """Store all partitions of a copy one after another, with their repeats, if a store of each
    element once would take many transfers; the load skips the repeats.
    """
    once = own(form.partition, prod(shape_of(value)))
    free, elements = form.free, form.elements
    if transfers(once, prod(shape_of(value))) <= MOST_TRANSFERS:
        return None
    if form.partitions != positions(form.partition) or dense([a for a, _ in free]) != free:
        return None
    shape, dtype = (form.partitions, elements), state.dtype(value)
    buffer = state.emitter.variable("scratch", "scratch", shape, dtype)
    row = ((1, elements),)
    chip = View(form.buffer, form.start, form.partitions, row, form.offset, form.indices)
    state.emitter.dma(View(buffer, 0, form.partitions, row, 0, (), elements), chip)
    digits = [*((a, step * elements) for a, step in once), *free]
    return Form(buffer, (), tuple(sorted(digits, key=lambda pair: -pair[0].stride)), hbm=True)


def select(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Lower to a product with zeros and ones, which permutes or repeats partitions."""
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
        source = replace(psum, free=packed([d.size for d in piece.dims]))
        emitter.copy(replace(piece.view(target, 0), partitions=n), source)


def select_bits(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Permute or repeat values that a product would corrupt, such as -0: in parts, as integers."""
    parts = Parts.of(dtype, state.machine)
    source, goal = (as_parts(f, parts) for f in (form, target))
    atoms = [a for a, _ in form.free]
    for part in range(parts.count):
        buffer = state.emitter.sbuf(form.partitions, max(1, form.elements), parts.kind)
        numbers = Form(buffer, form.partition, dense(atoms), copies=form.copies)
        copy(state, replace(source, offset=source.offset + part), numbers)
        select(state, numbers, replace(goal, offset=goal.offset + part), parts.kind)


def _numbers(form: Form) -> list[int]:
    """Return the first element of each partition."""
    if not form.partition:
        return [0] * form.partitions
    return numbers_of([a for a, _ in form.partition])
