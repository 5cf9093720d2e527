"""Defer scalar operations to the next instruction, and emit deferred ones."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.hlo.support.evaluate import lazy_value
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.rules.elementwise import (
    engine_for,
)
from neuronir.passes.tile.layouts.maps import SLICES
from neuronir.passes.tile.lower.pieces import destination
from neuronir.passes.tile.lower.row_sums import row_sums, sums_beside
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.steps import Step, steps, view_scalar
from neuronir.passes.tile.lower.values import Held, Lazy, Number, Scalar
from neuronir.passes.tile.numbers import number_of


def target(
    state: Lower,
    op: Operation,
    beside: Operation | None = None,
    over: Sequence[SSAValue] = (),
) -> tuple[SSAValue, Form]:
    """Return the buffer of a result.

    This is the buffer of its conversion if there is no other reader (except `beside`). Outside of
    loops, whose iterations share buffers, it is the buffer of an operand in `over` that dies here.
    """
    result = op.results[0]
    users = [use.operation for use in result.uses if use.operation is not beside]
    if len(users) == 1 and users[0].name == "hlo.convert" and users[0].parent is op.parent:
        other = users[0].results[0]
        old, new = state.dtype(result), state.dtype(other)
        narrows = old.is_float and new.is_float and new.size < old.size
        if narrows and state.place(result) == state.place(other):
            state.done.add(users[0])
            result = other
    if not state.emitter.depth and destination(state, result) is None:
        for value in over:
            if ends_here(state, value, op, result):
                return result, state.held(value)
    return result, state.allocate(result)


BITWISE = frozenset(("hlo.and", "hlo.or", "hlo.xor"))
"""Bitwise ops, which are exact on DVE."""
SHIFTS = frozenset(("hlo.shift_left", "hlo.shift_right_logical", "hlo.shift_right_arithmetic"))
"""Shifts, too."""
WORDS = (DType.I32, DType.U32)
ALIASES = frozenset(
    f"hlo.{n}" for n in ("reshape", "bitcast", "transpose", "convert", "copy", "bitcast_convert")
)
"""Ops whose result may be the same copy as their operand."""


def ends_here(state: Lower, value: SSAValue, op: Operation, result: SSAValue) -> bool:
    """Return whether an operand is in a buffer without other readers, in the layout of the
    result.
    """
    held = state.values.get(value)
    if not isinstance(held, Held) or held.dtype is not state.dtype(result):
        return False
    if not held.as_stored:
        return False
    form, wanted = held.form, state.place(result).form(value, prod(shape_of(result)))
    if form.hbm or form.start or form.offset or form.indices or form.dtype:
        return False
    if (form.partition, form.free, form.copies) != (wanted.partition, wanted.free, wanted.copies):
        return False
    reader = op
    while value.get_user_of_unique_use() is reader:
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            return False
        if owner.name not in ALIASES:
            return owner.name not in SLICES and owner.name != "hlo.broadcast"
        value, reader = owner.operands[0], owner
    return False


def waits(state: Lower, op: Operation) -> bool:
    """Return whether the reader of a result can perform more than one operation at once."""
    user = op.results[0].get_user_of_unique_use()
    if user is None or user.parent is not op.parent:
        return False
    if converted_next(state, op):
        return True
    return (
        user.name in ACTIVATIONS
        or user.name
        in (
            "hlo.add",
            "hlo.subtract",
            "hlo.multiply",
            "hlo.maximum",
            "hlo.minimum",
            "hlo.select",
        )
        or user.name == "hlo.composite"
    )


def source(state: Lower, value: SSAValue) -> "Held | Lazy | Number":
    """Return an operand without deferred operations."""
    return state.get(value)


def materialize(state: Lower, value: SSAValue, lazy: Lazy) -> Held:
    """Emit the deferred operations."""
    form = state.allocate(value)
    write(state, form, lazy)
    state.set(value, form)
    return Held(form, state.dtype(value))


def write(state: Lower, out: Form, lazy: Lazy) -> None:
    """Write a deferred value to a buffer."""
    for step in steps(state, out, [lazy]):
        (src,) = step.sources
        apply_steps(state, step, src, lazy.steps, lazy.dtype)


def apply_steps(
    state: Lower, step: Step, src: View, waiting: Sequence[Scalar], dtype: DType
) -> None:
    """Emit out = src with scalar operations."""
    if not waiting:
        state.emitter.copy(step.out, src)
        return
    half = _half(state, waiting, dtype)
    if half is not None:
        state.emitter.activation(step.out, half_words(src, half), Activation.COPY)
        return
    scale, bias = affine(waiting) if dtype.is_float else (None, None)
    if scale is not None and bias is not None:
        state.emitter.activation(
            step.out, src, Activation.COPY, view_scalar(scale, step), view_scalar(bias, step)
        )
        return
    engine = engine_for(waiting[0].op, dtype, state.machine.has_pool)
    first = waiting[0]
    more: tuple[AluOp, float | View] | tuple[()] = ()
    if len(waiting) > 1:
        more = (waiting[1].op, view_scalar(waiting[1].operand, step))
    state.emitter.tensor_scalar(
        step.out,
        src,
        first.op,
        view_scalar(first.operand, step),
        *more,
        reverse0=first.reverse,
        reverse1=len(waiting) > 1 and waiting[1].reverse,
        engine=engine,
    )


def _half(state: Lower, waiting: Sequence[Scalar], dtype: DType) -> int | None:
    """Return the half of a word (0: low, 1: high) that operations select for ACT to copy, or None.

    ACT copies 16 bits exactly, and does not hold the port of SBUF that DVE and POOL share.
    """
    if len(waiting) != 1 or dtype is not DType.U32 or waiting[0].reverse:
        return None
    if not state.machine.has_pool:
        return None
    selected = (waiting[0].op, waiting[0].operand)
    if selected == (AluOp.BITWISE_AND, float(0xFFFF)):
        return 0
    return 1 if selected == (AluOp.SHIFT_RIGHT_LOGICAL, 16.0) else None


def half_words(words: View, half: int) -> View:
    """Return the lower (0) or upper (1) halves of 32-bit words, as u16 (little endian)."""
    return replace(
        words,
        free=tuple((2 * stride, n) for stride, n in words.free),
        offset=2 * words.offset + half,
        indices=tuple((value, 2 * stride) for value, stride in words.indices),
        dtype=DType.U16.name.lower(),
    )


def affine(waiting: Sequence[Scalar]) -> tuple["float | Form | None", "float | Form | None"]:
    """Return operations as ACT's scale and bias, or None."""
    scale: float | Form = 1.0
    bias: float | Form = 0.0
    for i, s in enumerate(waiting):
        if s.op is AluOp.MULTIPLY and i == 0:
            scale = s.operand
        elif s.op is AluOp.ADD and i == len(waiting) - 1:
            bias = s.operand
        elif s.op is AluOp.SUBTRACT and i == len(waiting) - 1 and isinstance(s.operand, float):
            if s.reverse:
                if scale != 1.0:
                    return None, None
                scale, bias = -1.0, s.operand
            else:
                bias = -s.operand
        else:
            return None, None
    return scale, bias


def scalar_step(state: Lower, op: Operation, operand: "Held | Lazy", step: Scalar) -> None:
    """Lower an operation with a scalar: it is deferred if the next instruction can include it."""
    result = op.results[0]
    dtype = operand.dtype
    if isinstance(operand, Lazy) and len(operand.steps) >= 2:
        operand = materialize(state, op.operands[1 if step.reverse else 0], operand)
    before = operand.steps if isinstance(operand, Lazy) else ()
    inner = operand.source if isinstance(operand, Lazy) else operand
    lazy = Lazy(inner, (*before, step), dtype)
    single = state.dtype(result) is DType.F32 or converted_next(state, op)
    if waits(state, op) and dtype is DType.F32 and single or _bits_next(op, lazy):
        state.values[result] = lazy
        return
    if not _summed(state, op, lazy):
        last, out = target(state, op)
        write(state, out, lazy)
        state.set(last, out)


def _summed(state: Lower, op: Operation, lazy: Lazy) -> bool:
    """Emit operations with scalars on ACT, which also sums rows, if a reduction asks for that."""
    scale, bias = affine(lazy.steps)
    if scale is None or bias is None or not lazy.dtype.is_float:
        return False
    summing = sums_beside(state, op)
    if summing is None:
        return False
    last, out = target(state, op, summing)
    total = row_sums(state, summing)
    for step in steps(state, out, [lazy], [total]):
        sums = total.at(step.number, step.partitions, ((1, 1),))
        scalars = view_scalar(scale, step), view_scalar(bias, step)
        state.emitter.activation(step.out, step.sources[0], Activation.COPY, *scalars, sums)
    state.set(last, out)
    return True


def _bits_next(op: Operation, lazy: Lazy) -> bool:
    """Return whether DVE computes a bitwise op with a scalar together with the next one.

    That is a second op with a constant (one instruction), or a bitwise op with a tile, which reads
    the result from PSUM at the full rate.
    """
    user = op.results[0].get_user_of_unique_use()
    if user is None or user.parent is not op.parent or len(lazy.steps) != 1:
        return False
    if lazy.dtype not in WORDS or not {op.name, user.name} <= BITWISE | SHIFTS:
        return False
    if user.operands[0] is op.results[0] and number_of(user.operands[1]) is not None:
        return isinstance(lazy.steps[0].operand, float)
    return user.name in BITWISE and isinstance(lazy.source, Held)


def converted_next(state: Lower, op: Operation) -> bool:
    """Return whether the only user of a comparison or a negation converts it to float. DVE writes
    floats directly.
    """
    user = op.results[0].get_user_of_unique_use()
    if op.name not in ("hlo.compare", "hlo.not") or user is None or user.parent is not op.parent:
        return False
    if user.name not in ("hlo.not", "hlo.convert"):
        return False
    if state.place(user.results[0]) != state.place(op.results[0]):
        return False
    if user.name == "hlo.not":
        return op.name == "hlo.compare" and converted_next(state, user)
    return state.dtype(user.results[0]).is_float


def evaluated(state: Lower, op: Operation, *numbers: Number) -> Number:
    """Evaluate an op on scalars, in its own type."""
    arrays = [
        np.asarray(n.value, state.dtype(v).numpy) for n, v in zip(numbers, op.operands, strict=True)
    ]
    return Number(float(as_array(lazy_value(op, arrays)).reshape(-1)[0]))
