"""Lower selects: one value, overwritten by another where the predicate holds."""

from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.tile.lower.diagonals import select_diagonal
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.steps import Step, steps
from neuronir.passes.tile.lower.values import Held, Lazy, Number, lies_in
from neuronir.passes.tile.lower.waiting import apply_steps, materialize, target
from neuronir.passes.tile.times import PRODUCTS

LEAST_CHOSEN = 256
"""Minimum elements of a partition for which the scalar of a select is put in PSUM."""


def _one_a_partition(state: Lower, partitions: int, number: float, dtype: DType) -> View:
    """Return a scalar on each partition."""
    filled = View(state.emitter.sbuf(partitions, 1, dtype), 0, partitions, ((1, 1),))
    state.emitter.memset(filled, number)
    return filled


def _to_choose(state: Lower, op: Operation, out: Form, number: float, dtype: DType) -> View:
    """Return a scalar on each partition, for a select whose predicate is in SBUF.

    DVE processes one element per cycle if the scalar is in PSUM, and half an element if both are in
    SBUF. In a loop with products, these need the banks of PSUM.
    """
    elements = prod(a.size for a, _ in out.free)
    block = op.parent
    assert block is not None
    scarce = state.emitter.depth and any(other.name in PRODUCTS for other in block.ops)
    if dtype is not DType.F32 or elements < LEAST_CHOSEN or scarce:
        return _one_a_partition(state, out.partitions, number, dtype)
    filled = state.psum(out.partitions, 1)
    state.emitter.memset(filled, number)
    return filled


def _repeated(one: View, step: Step) -> View:
    """Return a scalar on each partition, repeated for the elements of a step's result."""
    free = tuple((0, n) for _, n in step.out.free)
    return replace(one, partitions=step.partitions, start=step.out.start, free=free)


def _in_psum(value: Lazy) -> bool:
    """Return whether a value is a product in PSUM."""
    return not isinstance(value.source, Held) and not value.steps


def _over_number(
    state: Lower,
    result: SSAValue,
    out: Form,
    predicate: Held,
    product: Lazy,
    number: float,
    invert: bool,
) -> None:
    """Overwrite a scalar with a product from PSUM where the predicate holds.

    DVE reads one operand from SBUF and one from PSUM at full rate; two from SBUF take twice as
    long.
    """
    everywhere = _one_a_partition(state, out.partitions, number, state.dtype(result))
    for step in steps(state, out, [predicate, product]):
        state.emitter.copy(step.out, _repeated(everywhere, step))
        operands = list(step.sources)
        state.emitter.emit(
            "copy_predicated", [step.out], operands, {"invert": int(invert)}, Engine.DVE
        )
    state.set(result, out)


@register_lowering("hlo.select")
def lower_select(state: Lower, op: Operation) -> None:
    """Copy one value, then overwrite it with the other where the predicate holds.

    The result may have the buffer of an operand that dies here, or that is a state of a loop. The
    value already stored there is the one to copy, because the copy overwrites it.
    """
    predicate = Held(state.held(op.operands[0]), DType.BOOL)
    on_true, on_false = (state.get(v) for v in op.operands[1:])
    over = [v for v in reversed(op.operands[1:]) if isinstance(state.values.get(v), Held)]
    result, out = target(state, op, over=over)
    if select_diagonal(state, op, out, on_true, on_false):
        state.set(result, out)
        return
    if lies_in(predicate, out) or (lies_in(on_true, out) and lies_in(on_false, out)):
        out = state.buffer(state.place(result), prod(shape_of(result)), state.dtype(result))
    invert = not isinstance(on_true, Number) and isinstance(on_false, Number)
    invert |= lies_in(on_true, out)
    base, chosen = (on_true, on_false) if invert else (on_false, on_true)
    if isinstance(base, Lazy) and isinstance(chosen, Number) and _in_psum(base):
        _over_number(state, result, out, predicate, base, chosen.value, not invert)
        return
    sources: list[Held | Lazy] = [predicate]
    if not isinstance(base, Number):
        sources.append(base)
    filled: View | None = None
    if isinstance(chosen, Number):
        filled = _to_choose(state, op, out, chosen.value, state.dtype(result))
    else:
        if isinstance(chosen, Lazy):
            chosen = materialize(state, op.operands[2 if invert else 1], chosen)
        sources.append(chosen)
    # The number may lie in PSUM, of which an instruction reads fewer elements than of SBUF.
    most = state.machine.max_free_psum if filled is not None else None
    for step in steps(state, out, sources, most=most):
        views = list(step.sources)
        p = views.pop(0)
        if isinstance(base, Number):
            state.emitter.memset(step.out, base.value)
        else:
            src = views.pop(0)
            waiting = base.steps if isinstance(base, Lazy) else ()
            if waiting or src != step.out:
                apply_steps(state, step, src, waiting, base.dtype)
        if filled is not None:
            one = _repeated(filled, step)
        else:
            one = views.pop(0)
        state.emitter.emit(
            "copy_predicated", [step.out], [p, one], {"invert": int(invert)}, Engine.DVE
        )
    state.set(result, out)
