"""Lower reductions: along the free axis by DVE or as part of ACT, over partitions by a product."""

from dataclasses import replace
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.layout import Form, dense
from neuronir.passes.lowering.layouts.views import chunks, plan, walked
from neuronir.passes.lowering.rules.elementwise import engine_for
from neuronir.passes.lowering.rules.reduce import is_neutral, reducer
from neuronir.passes.tile.layouts.plans import kept_and_reduced
from neuronir.passes.tile.lower.across import add_on_pe, add_partitions, turn_partitions
from neuronir.passes.tile.lower.memory import copy, target_type
from neuronir.passes.tile.lower.partial_sums import in_pieces
from neuronir.passes.tile.lower.row_sums import reduced_free, seen_from_operand
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.steps import PIECE
from neuronir.passes.tile.lower.sums_on_act import sum_on_act
from neuronir.passes.tile.lower.values import Number
from neuronir.passes.tile.numbers import number_of


@register_lowering("hlo.reduce")
def lower_reduce(state: Lower, op: Operation) -> None:
    """Reduce along the free axis, then over partitions."""
    value, initial = op.operands[0], number_of(op.operands[1])
    dtype = state.dtype(op.results[0])
    alu = reducer(op, op.regions[0], dtype)
    assert initial is not None  # otherwise it is lowered as a whole
    if isinstance(state.get(value), Number):
        raise NeuronError("NIR_TIL007", "a reduction of a scalar")
    form = state.held(value)
    across = bool(kept_and_reduced(op, form.partition)[1])
    neutral = is_neutral(alu, dtype, initial)
    negated = None if across or not neutral else negation(state, op)
    if negated is not None:
        out = state.allocate(negated.results[0])
        along_free(state, op, form, seen_from_operand(op, out), alu, dtype, negate=True)
        state.set(negated.results[0], out)
        state.done.add(negated)
        return
    out = state.allocate(op.results[0])
    result = seen_from_operand(op, out)
    if across:
        free = dense([a for a, _ in result.free])
        partial = Form(form.buffer, form.partition, free)
        target = result
        if result.free != free:
            buffer = state.emitter.sbuf(out.partitions, partial.elements, dtype)
            target = replace(result, buffer=buffer, free=free, start=0, offset=0, indices=())
        inside = plan([form], reduced_free(op, form))
        if (
            alu is not AluOp.ADD
            or inside is None
            or not add_on_pe(state, op, form, inside, partial, target)
        ):
            buffer = state.emitter.sbuf(form.partitions, prod(a.size for a, _ in free), dtype)
            partial = replace(partial, buffer=buffer)
            along_free(state, op, form, partial, alu, dtype)
            products = DType.F32.name in state.machine.matmul_dtypes
            combine = add_partitions if alu is AluOp.ADD and products else turn_partitions
            combine(state, op, partial, target, alu)
        copy(state, target, result)
    elif not (alu is AluOp.ADD and _apart_on_pe(state, op, form, result)):
        along_free(state, op, form, result, alu, dtype)
    if not neutral:
        engine = engine_for(alu, dtype, state.machine.has_pool)
        for piece in chunks(walked([out], [a for a, _ in out.free]), out.partitions, 4, 1 << 14):
            view = piece.view(out, 0)
            state.emitter.tensor_scalar(view, view, alu, initial, engine=engine)
    state.set(op.results[0], out)


def _apart_on_pe(state: Lower, op: Operation, form: Form, result: Form) -> bool:
    """Sum strided elements by products with an identity matrix, if that takes less time.

    Returns False, without effect, if they are adjacent, or repeated on more partitions, or if they
    may be infinite, because zeros of the identity would make NaN of infinities in other partitions.
    """
    if op.operands[0] in state.special:
        return False
    inside = plan([form], reduced_free(op, form))
    size = target_type(form).size
    if not inside or min(d.strides[0] for d in inside) * size <= state.machine.strided_access_bytes:
        return False
    same = form.partition == result.partition and not result.start
    if not same or target_type(result) is not DType.F32:
        return False
    free = dense([a for a, _ in result.free])
    if result.free != free:
        return False
    return add_on_pe(state, op, form, inside, Form(form.buffer, form.partition, free), result)


def negation(state: Lower, op: Operation) -> Operation | None:
    """Return the negation of a reduction of floats, if it is the only reader:

    DVE does both at once.
    """
    user = op.results[0].get_user_of_unique_use()
    if user is None or user.name != "hlo.negate" or user.parent is not op.parent:
        return None
    value, result = op.results[0], user.results[0]
    same = state.place(value) == state.place(result)
    return user if same and state.dtype(value).is_float else None


def along_free(
    state: Lower,
    op: Operation,
    form: Form,
    partial: Form,
    alu: AluOp,
    dtype: DType,
    negate: bool = False,
) -> None:
    """Reduce the free digits; with `negate` the result changes its sign."""
    inner, rows = reduced_free(op, form), min(form.partitions, partial.partitions)
    engine = engine_for(alu, dtype, state.machine.has_pool)
    walk = plan([partial, form], [a for a, _ in partial.free])
    inside = plan([form], inner)
    if walk is None or inside is None:
        raise NeuronError("NIR_TIL007", "a reduction cuts a digit")
    if not inside:
        for chunk in chunks(walk, rows, 3, state.machine.max_free_psum):
            target, source = chunk.view(partial, 0), chunk.view(form, 1)
            if negate:
                state.emitter.activation(target, source, Activation.COPY, scale=-1.0)
            else:
                state.emitter.copy(target, source)
        return
    inside = sorted(inside, key=lambda d: -d.strides[0])
    count = prod(d.size for d in inside)
    if len(inside) > 3 or count > state.machine.max_free_sbuf:
        raise NeuronError("NIR_TIL007", "a reduction over more than three digits")
    if in_pieces(state, form, partial, inside, alu, dtype, negate):
        return
    if alu is AluOp.ADD and sum_on_act(state, form, partial, walk, inside, negate=negate):
        return
    room = 4 - len(inside)
    most = 16384 if state.emitter.depth else PIECE
    for chunk in chunks(walk, rows, room, max(1, most // count)):
        dims = [(d.strides[1], d.size) for d in chunk.dims]
        dims += [(d.strides[0], d.size) for d in inside]
        src = form.at(chunk.number, chunk.partitions, dims)
        params = {"op": alu, "axes": len(inside), "negate": int(negate)}
        state.emitter.emit("tensor_reduce", [chunk.view(partial, 0)], [src], params, engine)
