"""How rows.unit is laid out and lowered at the tiled level."""

from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Form, dense, split_at
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.maps import cut
from neuronir.passes.tile.layouts.plans import Plan, register_plans
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.steps import steps, view_scalar
from neuronir.passes.tile.lower.values import Held
from neuronir.passes.tile.lower.waiting import target
from rows_neuron.dialect import epsilon_of

PASSES = 2.2
"""Instructions over all elements: squares that are summed up, and a product."""


@register_plans("rows.unit")
def plans(op: Operation, costs: Costs) -> list[Plan]:
    """Operand and result lie alike, with every row in one partition."""
    shape = shape_of(op.results[0])
    found = []
    for partition in costs.candidates(op.results[0]):
        digits = cut(partition, shape)
        if digits is not None and all(0 <= d < len(shape) - 1 for _, _, d in digits):
            cost = costs.elementwise(shape, partition, PASSES)
            found.append(Plan((partition,), partition, cost))
    return found


@register_lowering("rows.unit")
def lower(state: Lower, op: Operation) -> None:
    """Three instructions for what each partition holds: ACT squares rows and sums them up as it
    goes along, ACT takes one over the square root, DVE multiplies."""
    source = Held(state.held(op.operands[0]), DType.F32)
    row = shape_of(op.operands[0])[-1]
    if row > state.machine.max_free_psum:
        raise NeuronError("NIR_TIL007", f"rows.unit takes rows of {row} elements in pieces")
    result, out = target(state, op)
    squares = state.buffer(state.place(op.operands[0]), prod(shape_of(op.operands[0])), DType.F32)
    length = _row_numbers(state, squares, row)
    for step in steps(state, squares, [source], [length]):
        total = length.at(step.number, step.partitions, ((1, 1),))
        state.emitter.activation(step.out, step.sources[0], Activation.SQUARE, total=total)
    everything = length.at(0, length.partitions, ((1, length.elements),))
    state.emitter.activation(everything, everything, Activation.RSQRT, bias=epsilon_of(op))
    for step in steps(state, out, [source], [length]):
        factor = view_scalar(length, step)
        state.emitter.tensor_scalar(step.out, step.sources[0], AluOp.MULTIPLY, factor)
    state.set(result, out)


def _row_numbers(state: Lower, like: Form, row: int) -> Form:
    """One number for each row of a copy, in the partition where the row lies."""
    digits = [part for a, _ in like.free for part in split_at(a, (row,)) or (a,)]
    free = dense([a for a in digits if a.stride >= row])
    buffer = state.emitter.sbuf(like.partitions, prod(a.size for a, _ in free), DType.F32)
    return Form(buffer, like.partition, free)
