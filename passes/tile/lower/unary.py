"""Lower ACT functions, conversions, and DVE operations on one tile."""

from dataclasses import replace
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.products.epilogue import activation_of
from neuronir.passes.lowering.rules.elementwise import (
    engine_for,
)
from neuronir.passes.tile.lower.pieces import destination
from neuronir.passes.tile.lower.row_sums import row_sums, sums_beside
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.steps import steps, view_scalar
from neuronir.passes.tile.lower.values import Held, Lazy, Number, Scalar, lies_in
from neuronir.passes.tile.lower.waiting import (
    affine,
    evaluated,
    materialize,
    scalar_step,
    target,
    waits,
    write,
)

UNARY = tuple(
    f"hlo.{n}"
    for n in (
        "abs exponential log sqrt rsqrt tanh logistic erf sine sign negate not"
        " copy convert bitcast_convert"
    ).split()
)


@register_lowering(*UNARY)
def lower_unary(state: Lower, op: Operation) -> None:
    """Emit one instruction: an ACT function with deferred operations, or a DVE operation."""
    operand = state.get(op.operands[0])
    if isinstance(operand, Number):
        if op.name not in ("hlo.copy", "hlo.convert"):
            state.values[op.results[0]] = evaluated(state, op, operand)
            return
        state.set(op.results[0], state.held(op.results[0], operand))
        return
    func = ACTIVATIONS.get(op.name)
    dtype = state.dtype(op.results[0])
    if func is not None and dtype.is_float:
        activation(state, op, operand, func)
        return
    if op.name == "hlo.negate" and dtype.is_float:
        scalar_step(state, op, operand, Scalar(AluOp.MULTIPLY, -1.0))
        return
    if op.name == "hlo.not" and dtype is DType.BOOL and isinstance(operand, Lazy):
        scalar_step(state, op, operand, Scalar(AluOp.IS_EQ, 0.0))
        return
    if op.name in ("hlo.convert", "hlo.copy"):
        _conversion(state, op, operand)
        return
    held = Held(state.held(op.operands[0]), operand.dtype)
    if op.name == "hlo.bitcast_convert":
        form = replace(held.form, dtype=dtype.name.lower())
        state.values[op.results[0]] = Held(form, dtype)
        return
    result, out = target(state, op)
    if op.name == "hlo.abs" and lies_in(held, out):  # it is read again
        out = state.buffer(state.place(result), prod(shape_of(result)), state.dtype(result))
    for step in steps(state, out, [held]):
        (src,) = step.sources
        if op.name == "hlo.not":
            alu = AluOp.IS_EQ if dtype is DType.BOOL else AluOp.BITWISE_NOT
            state.emitter.tensor_scalar(step.out, src, alu, 0.0)
        else:
            engine = engine_for(AluOp.MULTIPLY, dtype, state.machine.has_pool)
            state.emitter.tensor_scalar(step.out, src, AluOp.MULTIPLY, -1.0, engine=engine)
            if op.name == "hlo.abs":
                state.emitter.tensor_tensor(AluOp.MAX, step.out, src, step.out, engine)
    state.set(result, out)


@register_lowering("hlo.composite")
def lower_composite(state: Lower, op: Operation) -> None:
    """Lower an ACT function."""
    func = activation_of(op, state.machine)
    operand = state.get(op.operands[0])
    if func is None or isinstance(operand, Number):
        raise NeuronError("NIR_TIL002", "no rule lowers a composite that ACT cannot compute")
    activation(state, op, operand, func)


def activation(state: Lower, op: Operation, operand: "Held | Lazy", func: Activation) -> None:
    """Apply an ACT function to a deferred value; it also sums rows if a reduction asks for that."""
    scale: float | Form = 1.0
    bias: float | Form = 0.0
    if isinstance(operand, Lazy):
        found = affine(operand.steps)
        if found[0] is None or found[1] is None:
            operand = materialize(state, op.operands[0], operand)
        else:
            scale, bias = found[0], found[1]
    summing = sums_beside(state, op)
    result, out = target(state, op, summing, [op.operands[0]] if isinstance(operand, Held) else ())
    total = None if summing is None else row_sums(state, summing)
    scalars = [] if total is None else [total]
    for step in steps(state, out, [operand], scalars):
        sums = None
        if total is not None:
            sums = total.at(step.number, step.partitions, ((1, 1),))
        state.emitter.activation(
            step.out, step.sources[0], func, view_scalar(scale, step), view_scalar(bias, step), sums
        )
    state.set(result, out)


def _conversion(state: Lower, op: Operation, operand: "Held | Lazy") -> None:
    if isinstance(operand, Lazy) and operand.dtype is DType.F32 and waits(state, op):
        if len(operand.steps) < 2 and state.dtype(op.results[0]) is DType.F32:
            state.values[op.results[0]] = operand
            return
    if isinstance(operand, Held) and _widened_when_read(state, op, operand):
        state.values[op.results[0]] = Held(operand.form, DType.F32, as_stored=False)
        return
    result, out = op.results[0], state.allocate(op.results[0])
    if isinstance(operand, Lazy):
        write(state, out, operand)
    elif operand.dtype is state.dtype(result) and _alike(operand.form, out):
        state.values[result] = operand
        return
    else:
        for step in steps(state, out, [operand]):
            state.emitter.copy(step.out, step.sources[0])
    state.set(result, out)


_WIDENING = frozenset(
    f"hlo.{n}"
    for n in ("add", "subtract", "multiply", "maximum", "minimum", "abs", "negate", "reduce")
) | frozenset(ACTIVATIONS)
"""Ops whose instructions compute in fp32 and read 16-bit floats."""


def _widened_when_read(state: Lower, op: Operation, operand: Held) -> bool:
    """Return whether all readers of a conversion from 16-bit floats to fp32 can read its operand.

    A value of one element a partition is converted: engines read scalars in fp32.
    """
    result = op.results[0]
    narrow = operand.dtype.is_float and operand.dtype.size == DType.F16.size
    if not narrow or state.dtype(result) is not DType.F32 or operand.form.hbm:
        return False
    if result in state.homes or destination(state, result) is not None:
        return False
    form = state.place(result).form(operand.form.buffer, prod(shape_of(result)))
    if not _alike(operand.form, form) or prod(a.size for a, _ in form.free) < 2:
        return False
    return all(
        use.operation.name in _WIDENING and use.operation.parent is op.parent for use in result.uses
    )


def _alike(one: Form, other: Form) -> bool:
    """Return whether two copies have the same layout."""
    return (one.partition, one.free, one.copies) == (other.partition, other.free, other.copies)
