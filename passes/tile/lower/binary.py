"""Lower binary ops on tiles and scalars, and quotients."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.ops import FINITE, View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import string
from neuronir.passes.lowering.layouts.layout import Form, dense
from neuronir.passes.lowering.rules.elementwise import (
    BINARY,
    BITS,
    COMPARISONS,
    LOGICAL,
    engine_for,
)
from neuronir.passes.tile.layouts.short_rows import least_row
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.steps import scalar_of, steps, view_scalar
from neuronir.passes.tile.lower.unary import activation
from neuronir.passes.tile.lower.values import Held, Lazy, Number, Scalar, Value
from neuronir.passes.tile.lower.waiting import (
    WORDS,
    affine,
    apply_steps,
    evaluated,
    materialize,
    scalar_step,
    target,
    write,
)

BINARIES = (*BINARY, *LOGICAL, "hlo.divide", "hlo.compare")


@register_lowering(*BINARIES)
def lower_binary(state: Lower, op: Operation) -> None:
    """Lower a binary op: with a scalar it may be deferred, with two tiles it is one instruction."""
    dtype = state.dtype(op.operands[0])
    left, right = state.get(op.operands[0]), state.get(op.operands[1])
    if op.name == "hlo.divide":
        if not dtype.is_float:
            raise NeuronError("NIR_TIL002", "integer division")
        if isinstance(right, Number):
            right = Number(1.0 / right.value) if _exact_inverse(right.value) else right
            alu = (
                AluOp.MULTIPLY
                if _exact_inverse(1 / right.value if right.value else 0)
                else AluOp.DIVIDE
            )
            _binary(state, op, left, right, alu, dtype)
            return
        _divide(state, op, left, right, dtype)
        return
    if op.name == "hlo.compare":
        alu = COMPARISONS[string(op, "direction")]
    elif op.name in LOGICAL:
        alu = LOGICAL[op.name][0 if dtype is DType.BOOL else 1]
    else:
        alu = BINARY[op.name]
        if dtype is DType.BOOL:
            alu = {AluOp.ADD: AluOp.LOGICAL_OR, AluOp.MULTIPLY: AluOp.LOGICAL_AND}.get(alu, alu)
    same = op.operands[0] is op.operands[1]
    if same and alu is AluOp.MULTIPLY and dtype.is_float and not isinstance(left, Number):
        activation(state, op, left, Activation.SQUARE)
        return
    _binary(state, op, left, right, alu, dtype)


def _exact_inverse(value: float) -> bool:
    from math import frexp

    return value != 0 and abs(frexp(value)[0]) == 0.5


def _divide(state: Lower, op: Operation, left: Value, right: Value, dtype: DType) -> None:
    """Lower a / b = a * (1 / b), where each scalar is inverted once."""
    assert not isinstance(right, Number)
    form = state.held(op.operands[1])
    elements = prod(a.size for a, _ in form.free)
    buffer = state.emitter.sbuf(form.partitions, elements, DType.F32)
    inverse = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
    for step in steps(state, inverse, [Held(form, dtype)]):
        state.emitter.emit("reciprocal", [step.out], [step.sources[0]], {}, Engine.DVE)
    if isinstance(left, Number) and left.value == 1.0:
        result, out = target(state, op)
        write(state, out, Lazy(Held(inverse, DType.F32), (), DType.F32))
        state.set(result, out)
        return
    _binary(state, op, left, Held(inverse, DType.F32), AluOp.MULTIPLY, DType.F32)


def _binary(
    state: Lower, op: Operation, left: Value, right: Value, alu: AluOp, dtype: DType
) -> None:
    where = state.place(op.results[0])
    shape = where.form(op.results[0], prod(shape_of(op.results[0])))
    least = least_row(op, state.machine)
    for one, other, reverse in ((left, right, False), (right, left, True)):
        if isinstance(one, Number):
            continue
        words = alu in BITS and dtype in WORDS
        scalar = scalar_of(other, shape, least, dtype if words else DType.F32)
        if scalar is not None and (isinstance(scalar, float) or dtype is DType.F32 or words):
            scalar_step(state, op, one, Scalar(alu, scalar, reverse))
            return
    if isinstance(left, Number) and isinstance(right, Number):
        state.values[op.results[0]] = evaluated(state, op, left, right)
        return
    assert not isinstance(left, Number) and not isinstance(right, Number)
    _tensors(state, op, left, right, alu, dtype)


def _tensors(
    state: Lower, op: Operation, left: "Held | Lazy", right: "Held | Lazy", alu: AluOp, dtype: DType
) -> None:
    """Combine two tiles, including one deferred scalar operation."""
    sides = [left, right]
    words = dtype in WORDS and alu in BITS
    for i in (0, 1):
        one, other = sides[i], sides[1 - i]
        if isinstance(one, Lazy) and isinstance(other, Lazy):
            product = not isinstance(other.source, Held)
            keep = 1 - i if product and isinstance(one.source, Held) else i
            sides[1 - keep] = materialize(state, op.operands[1 - keep], other if keep == i else one)
    for i in (0, 1):
        one = sides[i]
        if isinstance(one, Lazy) and len(one.steps) > (1 if dtype is DType.F32 or words else 0):
            sides[i] = materialize(state, op.operands[i], one)
    over = [v for v, side in zip(op.operands, sides, strict=True) if isinstance(side, Held)]
    result, out = target(state, op, over=over)
    engine = engine_for(alu, dtype, state.machine.has_pool)
    if engine is Engine.DVE and dtype is DType.F32:
        sides = _scaled_by_act(state, op, sides, out)
        sides = small_in_psum(state, sides, out)
    waiting = next((i for i, s in enumerate(sides) if isinstance(s, Lazy) and s.steps), None)
    if waiting is not None and words:
        _through_psum(state, out, sides, waiting, alu)
        state.set(result, out)
        return
    summand = alu is AluOp.ADD and not any(v in state.made_special for v in op.operands)
    for step in steps(state, out, sides):
        a, b = step.sources
        if waiting is None:
            state.emitter.tensor_tensor(alu, step.out, a, b, engine)
            if summand:
                state.emitter.ops[-1].attributes[FINITE] = UnitAttr()
            continue
        lazy = sides[waiting]
        assert isinstance(lazy, Lazy)
        (scalar,) = lazy.steps
        operand = view_scalar(scalar.operand, step)
        params: dict[str, float | int] = {
            "op0": scalar.op,
            "op1": alu,
            "reverse0": int(scalar.reverse),
            "reverse1": int(waiting == 1),
        }
        if not isinstance(operand, View):
            params["imm0"] = operand
        state.emitter.emit(
            "scalar_tensor_tensor",
            [step.out],
            [
                step.sources[waiting],
                operand if isinstance(operand, View) else None,
                step.sources[1 - waiting],
            ],
            params,
            Engine.DVE,
        )
    state.set(result, out)


def _through_psum(
    state: Lower, out: Form, sides: Sequence["Held | Lazy"], waiting: int, alu: AluOp
) -> None:
    """Combine bits of a tile with those of a deferred operation, which is written to PSUM.

    DVE processes one element per cycle if an operand is in PSUM, and half an element if both are in
    SBUF.
    """
    lazy, other = sides[waiting], sides[1 - waiting]
    assert isinstance(lazy, Lazy)
    bank = state.machine.psum_bank_bytes // lazy.dtype.size
    in_sbuf = space_of(other.form.buffer) is Space.SBUF
    for step in steps(state, out, sides, most=bank):
        dims = [n for _, n in step.out.free]
        if in_sbuf:
            whole = state.psum(step.out.start + step.partitions, prod(dims), lazy.dtype)
        else:
            form = state.emitter.sbuf(step.out.start + step.partitions, prod(dims), lazy.dtype)
            whole = View(form, 0, step.out.start + step.partitions, ((1, prod(dims)),))
        free = tuple((prod(dims[i + 1 :]), n) for i, n in enumerate(dims))
        part = replace(whole, start=step.out.start, partitions=step.partitions, free=free)
        apply_steps(state, replace(step, out=part), step.sources[waiting], lazy.steps, lazy.dtype)
        state.emitter.tensor_tensor(alu, step.out, part, step.sources[1 - waiting], Engine.DVE)


SMALL_SHARE = 4
"""Minimum result elements per element of a small operand for which that is copied to PSUM."""


def small_in_psum(state: Lower, sides: Sequence["Held | Lazy"], out: Form) -> "list[Held | Lazy]":
    """Return the operands of a DVE operation on two fp32 tiles, the small one in PSUM.

    With both operands in SBUF, DVE reads one element every other cycle. With one in PSUM it
    processes one element per cycle. This applies outside of loops, where a PSUM bank is available
    for long.
    """
    found = list(sides)
    if any(isinstance(s, Lazy) for s in sides):
        return found
    for i, side in enumerate(sides):
        form = side.form
        elements = prod(a.size for a, _ in form.free)
        if not _is_small(state, form, out):
            continue
        view = state.psum(form.partitions, elements)
        kept = Form(
            view.buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies
        )
        copy(state, form, kept)
        found[i] = Held(kept, DType.F32)
        break
    return found


def _is_small(state: Lower, form: Form, out: Form) -> bool:
    """Return whether an operand of a result fits in a PSUM bank and is read repeatedly."""
    few = state.machine.psum_bank_bytes // DType.F32.size
    elements = prod(a.size for a, _ in form.free)
    whole = prod(a.size for a, _ in out.free)
    return not state.emitter.depth and elements <= few and elements * SMALL_SHARE <= whole


def _scaled_by_act(
    state: Lower, op: Operation, sides: Sequence["Held | Lazy"], out: Form
) -> "list[Held | Lazy]":
    """Return the operands of a DVE operation with a deferred scale or bias and a small operand.

    ACT applies the scale or bias, so that DVE can read the small operand from PSUM. Doing both at
    once takes DVE two cycles per element.
    """
    found = list(sides)
    for i, side in enumerate(sides):
        other = sides[1 - i]
        if not isinstance(side, Lazy) or not side.steps or None in affine(side.steps):
            continue
        if isinstance(other, Held) and _is_small(state, other.form, out):
            found[i] = materialize(state, op.operands[i], side)
    return found
