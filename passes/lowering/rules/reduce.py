"""Lower reduce: along the free axis by the vector engine, across partitions by POOL or a matmul."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.ir import Operation, Region

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.reduction import ReduceOp
from neuronir.dialects.nc.enums import AluOp, DType, Engine, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.natural import divides, in_dimensions, workable
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.layouts.views import Dim, chunks, plan, walked
from neuronir.passes.lowering.rules.elementwise import BINARY, LOGICAL, engine_for
from neuronir.passes.lowering.state import Lowering


def reducer(op: Operation, region: Region, dtype: DType) -> AluOp:
    """Return the operator of a reduction's region, which must be one binary op on its two
    arguments.
    """
    block = region.block
    ops = [o for o in block.ops]
    if len(ops) == 2 and len(ops[0].operands) == 2 and set(ops[0].operands) == set(block.args):
        name = ops[0].name
        if name in BINARY and name in ("hlo.add", "hlo.multiply", "hlo.maximum", "hlo.minimum"):
            alu = BINARY[name]
            if dtype is DType.BOOL:
                return {AluOp.ADD: AluOp.LOGICAL_OR, AluOp.MULTIPLY: AluOp.LOGICAL_AND}.get(
                    alu, alu
                )
            return alu
        if name in LOGICAL:
            return LOGICAL[name][0 if dtype is DType.BOOL else 1]
    raise NeuronError(
        "NCC_EVRF001",
        f"{source_name(op)}: reduce with this computation is not supported",
        help="min, max, add, multiply, and, or and xor of the two arguments are",
    )


def lower_reduce(state: Lowering, op: Operation) -> None:
    """Lower reduce of one operand with a constant initial value."""
    assert isinstance(op, ReduceOp)
    if len(op.operands) != 2:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: reduce of several operands is not supported",
            help="argmax-like reductions are rewritten before lowering; others are not supported",
        )
    value, initial = state.value(op.operands[0]), state.value(op.operands[1])
    dtype = state.dtype(op.results[0])
    alu = reducer(op, op.regions[0], dtype)
    if initial.scalar is None:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: the initial value of reduce must be a constant",
        )
    dims = [d for d in ints(op.dimensions)]
    reduced = reduce_value(state, value, dims, alu)
    reduced = with_initial(state, reduced, alu, initial.scalar)
    state.set(op.results[0], reduced)


def neutral(alu: AluOp, dtype: DType) -> float:
    """Return the identity of an operator in a type."""
    if alu in (AluOp.MAX, AluOp.MIN):
        if dtype.is_float:
            return float("-inf") if alu is AluOp.MAX else float("inf")
        if dtype is DType.BOOL:
            return 0.0 if alu is AluOp.MAX else 1.0
        info: np.iinfo[Any] = np.iinfo(cast(Any, dtype.numpy))
        return float(info.min if alu is AluOp.MAX else info.max)
    if alu in (AluOp.MULTIPLY, AluOp.LOGICAL_AND):
        return 1.0
    if alu is AluOp.BITWISE_AND:
        return float(2 ** (8 * dtype.size) - 1)
    return 0.0


def is_neutral(alu: AluOp, dtype: DType, initial: float) -> bool:
    """Return whether an initial value is the identity."""
    if initial == neutral(alu, dtype):
        return True
    return alu is AluOp.BITWISE_AND and initial == -1


def with_initial(state: Lowering, value: Value, alu: AluOp, initial: float) -> Value:
    """Combine a reduction with an initial value that is not the identity."""
    if is_neutral(alu, value.dtype, initial):
        return value
    form = value.forms[0]
    walk = walked([form], [a for a, _ in form.free])
    engine = engine_for(alu, value.dtype, state.machine.has_pool)
    for chunk in chunks(walk, form.partitions, 4, state.machine.max_free_sbuf):
        view = chunk.view(form, 0)
        state.emitter.tensor_scalar(view, view, alu, initial, engine=engine)
    return value


def reduce_value(state: Lowering, value: Value, dims: list[int], alu: AluOp) -> Value:
    """Reduce `value` over `dims`."""
    shape = value.shape
    kept = [d for d in range(len(shape)) if d not in dims]
    out_shape = tuple(shape[d] for d in kept)
    axes = merge(dim_atoms(shape, dims))
    value = full_value(state, value)
    partition = reduction_layout(state, value, axes, kept)
    form = state.converter.ensure(value, partition, span(partition))
    form = state.converter.by_dimensions(value, form)
    on_partitions = [
        a for a, _ in form.partition if any(x.stride < a.end and a.stride < x.end for x in axes)
    ]
    old = row_major(shape)
    cuts = {c for d in range(len(shape)) for c in (old[d], old[d] * shape[d])}
    parts: list[Atom] = []
    for a, _ in form.free:
        parts.extend((a,) if a.ragged else split_at(a, cuts) or (a,))
    inner = [a for a in parts if any(x.stride <= a.stride and a.end <= x.end for x in axes)]
    outer = [a for a in parts if a not in inner]
    keep_partition = tuple((a, s) for a, s in form.partition if a not in on_partitions)
    size = 1
    for a in outer:
        size *= a.size
    buffer = state.emitter.sbuf(form.partitions, size, value.dtype)
    partial = Form(buffer, form.partition, dense(outer))
    _along_free(state, value, form, partial, outer, inner, alu)
    result = new_value(out_shape, value.dtype)
    if on_partitions:
        if keep_partition:
            raise NeuronError("NIR_LOW004", "a reduction mixes kept and reduced partitions")
        partial = _across(state, partial, value.dtype, alu, size)
    if on_partitions:
        partial = replace(partial, partition=())
    result.forms.append(kept_form(partial, shape, kept))
    return result


def kept_form(form: Form, shape: Sequence[int], kept: Sequence[int]) -> Form:
    """Return a copy that only varies along dimensions `kept` of `shape`, numbered like the value.

    The value has only those dimensions.
    """
    old, new = row_major(shape), row_major([shape[d] for d in kept])
    cuts = {c for d in range(len(shape)) for c in (old[d], old[d] * shape[d])}

    def rename(a: Atom) -> Atom:
        for i, d in enumerate(kept):
            inside = old[d] <= a.stride and a.reach <= old[d] * shape[d]
            if shape[d] > 1 and inside and a.unit % old[d] == 0:
                k = new[i]
                return Atom(a.size, a.stride // old[d] * k, a.unit // old[d] * k, a.extent)
        raise NeuronError("NIR_LOW004", "a reduction cuts a factor of its layout")

    def renamed(pairs: Sequence[tuple[Atom, int]]) -> tuple[tuple[Atom, int], ...]:
        return tuple(
            (rename(b), step * (b.stride // a.stride))
            for a, step in pairs
            for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
        )

    partition, free = renamed(form.partition), renamed(form.free)
    return Form(form.buffer, partition, free, copies=form.copies)


def full_value(state: Lowering, value: Value) -> Value:
    """Return a value that varies along all of its elements, so that sums count each of them."""
    size = 1
    for a in value.support:
        size *= a.size
    if size == value.size and value.scalar is None:
        return value
    return state.converter.expanded(value)


def reduction_layout(
    state: Lowering, value: Value, axes: tuple[Atom, ...], kept: list[int]
) -> tuple[tuple[Atom, int], ...]:
    """Return the layout of a reduction.

    It is an existing one with the reduced factors on the free axis, else kept dimensions on
    partitions, else (for a full reduction) any.
    """
    keeps = [a for a in dim_atoms(value.shape, kept)]
    for form in state.converter.source_forms(value):
        if not form.usable:
            continue
        crossing = [
            a for a, _ in form.partition if any(x.stride < a.end and a.stride < x.end for x in axes)
        ]
        if not keeps or (not crossing and workable(form, value.shape)):
            return form.partition
    if not keeps:
        return state.default_partition(value.support)
    chosen = state.default_partition(value.support, axes)
    if divides([a for a, _ in chosen], value.shape):
        return chosen
    return in_dimensions(value.shape, kept, state.machine.partitions)


def _along_free(
    state: Lowering,
    value: Value,
    form: Form,
    partial: Form,
    outer: list[Atom],
    inner: list[Atom],
    alu: AluOp,
) -> None:
    engine = engine_for(alu, value.dtype, state.machine.has_pool)
    if not inner:
        form, walk = state.converter.beside(value, form, [partial], outer)
        for chunk in chunks(walk, form.partitions, 4, state.machine.max_free_psum):
            state.emitter.copy(chunk.view(partial, 0), chunk.view(form, 1))
        return
    inside = plan([form], inner)
    walk_outer = plan([partial, form], outer)
    if inside is None or walk_outer is None:
        raise NeuronError("NIR_LOW004", "a reduction cuts a factor of its layout")
    limit = (
        state.machine.max_free_psum
        if space_of(form.buffer) is Space.PSUM
        else state.machine.max_free_sbuf
    )
    count = 1
    for d in inside:
        count *= d.size
    room = 4 - min(len(inside), 3)
    if len(inside) > 3 or count > limit or any(d.atom.ragged for d in inside):
        _in_steps(state, value, form, partial, walk_outer, inside, alu, engine)
        return
    for chunk in chunks(walk_outer, form.partitions, room, max(1, limit // count)):
        dims = [(d.strides[1], d.size) for d in chunk.dims] + [
            (d.strides[0], d.size) for d in inside
        ]
        src = form.at(chunk.number, chunk.partitions, dims)
        state.emitter.emit(
            "tensor_reduce",
            [chunk.view(partial, 0)],
            [src],
            {"op": alu, "axes": len(inside)},
            engine,
        )


def _in_steps(
    state: Lowering,
    value: Value,
    form: Form,
    partial: Form,
    walk_outer: Sequence[Dim],
    inside: Sequence[Dim],
    alu: AluOp,
    engine: Engine,
) -> None:
    """Reduce more than one instruction can: partial results are combined."""
    partitions = form.partitions
    first = True
    scratch = state.emitter.sbuf(partitions, partial.elements, value.dtype)
    other = Form(scratch, partial.partition, partial.free)
    limit = state.machine.max_free_psum
    for piece in chunks(inside, partitions, 2, limit):
        target = partial if first else other
        for chunk in chunks(walk_outer, partitions, 1, max(1, limit // max(piece.elements, 1))):
            dims = [(d.strides[1], d.size) for d in chunk.dims]
            dims += [(d.strides[0], d.size) for d in piece.dims]
            rows = min(piece.partitions, chunk.partitions)
            src = form.at(chunk.number + piece.number, rows, dims)
            out = target.at(chunk.number, rows, [(d.strides[0], d.size) for d in chunk.dims])
            state.emitter.emit(
                "tensor_reduce", [out], [src], {"op": alu, "axes": max(1, len(piece.dims))}, engine
            )
            if not first:
                mine = partial.at(chunk.number, rows, [(d.strides[0], d.size) for d in chunk.dims])
                state.emitter.tensor_tensor(alu, mine, mine, out, engine)
        first = False


def _across(state: Lowering, partial: Form, dtype: DType, alu: AluOp, size: int) -> Form:
    """Reduce over partitions: a sum by a matmul with ones, anything else by POOL."""
    rows = partial.partitions
    machine = state.machine
    if alu is AluOp.ADD and dtype is DType.F32 and dtype.name in machine.matmul_dtypes:
        n = machine.partitions
        ones, base = state.constants.keep("ones.square", np.ones((n, n), np.float32), DType.F32)
        target = state.emitter.sbuf(n, size, dtype)
        bank = machine.psum_bank_bytes // 4
        for low in range(0, size, bank):
            width = min(bank, size - low)
            psum = state.emitter.psum(n, width)
            out = View(psum, 0, n, ((1, width),))
            stationary = View(ones, 0, rows, ((1, n),), base, (), 0, "f32")
            state.emitter.matmul(
                out, stationary, View(partial.buffer, 0, rows, ((1, width),), low), False
            )
            state.emitter.copy(View(target, 0, n, ((1, width),), low), out)
        return Form(target, (), partial.free, copies=n)
    if not machine.has_pool:
        return _in_a_row(state, partial, dtype, alu, size)
    target = state.emitter.sbuf(rows, size, dtype)
    flat = ((1, size),)
    state.emitter.emit(
        "partition_all_reduce",
        [View(target, 0, rows, flat)],
        [View(partial.buffer, 0, rows, flat)],
        {"op": alu},
        Engine.POOL,
    )
    return Form(target, (), partial.free, copies=rows)


def _in_a_row(state: Lowering, partial: Form, dtype: DType, alu: AluOp, size: int) -> Form:
    """Reduce over partitions without engine support: gather the values on one partition."""
    rows = partial.partitions
    value = new_value((rows, size), dtype)
    dims: list[tuple[Atom, int]] = [(atom(size, 1), 1)] if size > 1 else []
    value.forms.append(Form(partial.buffer, ((atom(rows, size), 1),), tuple(dims)))
    form = state.converter.ensure(value, (), 1)
    target = state.emitter.sbuf(1, size, dtype)
    limit = max(1, state.machine.max_free_psum // rows)
    for low in range(0, size, limit):
        count = min(limit, size - low)
        source = form.at(low, 1, [(1, count), (size, rows)])
        out = View(target, 0, 1, ((1, count),), low)
        engine = engine_for(alu, dtype, state.machine.has_pool)
        state.emitter.emit("tensor_reduce", [out], [source], {"op": alu, "axes": 1}, engine)
    return Form(target, (), partial.free)
