"""Lower composites: one instruction if the machine has one, else the ops of the region."""

from xdsl.ir import Operation

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.passes.hlo.decompositions.row_networks import SORT_PAIRS, SORT_ROWS
from neuronir.passes.hlo.decompositions.row_tops import TOP_CODES, TOP_ROWS
from neuronir.passes.hlo.decompositions.searches import FIRST_MATCH
from neuronir.passes.lowering.products.epilogue import activation_of
from neuronir.passes.lowering.rows.norms import lower_norm
from neuronir.passes.lowering.rows.search import lower_first_match
from neuronir.passes.lowering.rows.softmax import lower_softmax
from neuronir.passes.lowering.rows.sort import lower_sort_pairs, lower_sort_rows
from neuronir.passes.lowering.rows.top import lower_top
from neuronir.passes.lowering.rules.pointwise import Pointwise
from neuronir.passes.lowering.rules.recurrence import lower_recurrence
from neuronir.passes.lowering.state import Lowering

DIRECT = {
    "softmax": lower_softmax,
    "layer_norm": lower_norm,
    "rms_norm": lower_norm,
    "recurrence": lower_recurrence,
    FIRST_MATCH: lower_first_match,
    SORT_ROWS: lower_sort_rows,
    SORT_PAIRS: lower_sort_pairs,
    TOP_CODES: lower_top,
    TOP_ROWS: lower_top,
}
"""Composites with better instructions than those of their single ops; a rule returns False if it
does not apply.
"""


def lower_composite(state: Lowering, op: Operation) -> None:
    """Lower a composite to an ACT function if there is one, else by its region."""
    assert isinstance(op, CompositeOp)
    kind = op.kind.data
    func = activation_of(op, state.machine)
    if func is not None:
        dtype = state.dtype(op.results[0])
        operand = state.value(op.operands[0])
        work = Pointwise(state, op, [operand], dtype)
        for out, (src,) in work.pieces(4):
            assert src is not None
            state.emitter.activation(out, src, func)
        work.finish(op)
        return
    lower = DIRECT.get(kind)
    if lower is not None and lower(state, op):
        return
    block = op.regions[0].block
    for argument, operand_ssa in zip(block.args, op.operands, strict=True):
        state.set(argument, state.value(operand_ssa))
    state.lower.block(state, block)
    assert block.last_op is not None
    state.set(op.results[0], state.value(block.last_op.operands[0]))
