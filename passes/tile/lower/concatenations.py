"""Lower concatenations of arrays in HBM: operands are stored to their positions."""

from xdsl.ir import Operation

from neuronir.passes.lowering.conversion.memory import copy_in_hbm
from neuronir.passes.tile.lower.memory import position, result_in_hbm
from neuronir.passes.tile.lower.state import Lower


def join_in_hbm(state: Lower, op: Operation) -> bool:
    """Copy operands that were not stored to their positions; False if one is not in HBM."""
    if not all(v in state.memory for v in op.operands):
        return False
    whole = state.joined.get(op) or result_in_hbm(state, op.results[0])
    for i, v in enumerate(op.operands):
        part = position(op, i, whole)
        assert part is not None  # row-major
        if state.memory[v] != part:
            copy_in_hbm(state.emitter, state.memory[v], part)
    state.memory[op.results[0]] = whole
    return True
