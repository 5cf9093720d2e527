"""Store results of the program as soon as they are available, concatenations piece by piece.

A result that is concatenated from batch slices need not be whole on the chip: early slices are
stored while the rest is computed.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.hlo.data_movement import ConcatenateOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.conversion.memory import result_in_hbm, write_all
from neuronir.passes.lowering.layouts.values import new_value, slice_value
from neuronir.passes.lowering.state import Lowering


def stored_in_pieces(state: Lowering, leaves: Sequence[SSAValue]) -> None:
    """Record results that are concatenations without other readers, with long rows in HBM.

    Their operands are stored one by one.
    """
    for ssa in leaves:
        op = ssa.owner
        if not isinstance(op, ConcatenateOp) or not all(_computed(v) for v in op.operands):
            continue
        ends = (TupleOp, ReturnOp)
        read = any(not isinstance(use.operation, ends) for use in ssa.uses)
        if read or len(set(op.operands)) < len(op.operands) or len(state.results.numbers[ssa]) > 1:
            continue
        d = int(op.dimension.value.data)
        size = state.dtype(ssa).size
        run = min(prod(shape_of(v)[d:]) for v in op.operands) * size
        if run >= state.machine.dma_engine_gbps * state.machine.dma_queue_descriptor_ns:
            for v in op.operands:  # which may be a piece of several results
                state.results.pieces.setdefault(v, []).append(op)


def _computed(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and not isinstance(value.owner, ConstantOp)


def store_piece(state: Lowering, ssa: SSAValue) -> None:
    """Store a new value in each result of which it is a piece."""
    if state.emitter.depth or ssa not in state.values:
        return
    for op in state.results.pieces.pop(ssa, ()):
        _store_in(state, ssa, op)


def _store_in(state: Lowering, ssa: SSAValue, op: ConcatenateOp) -> None:
    whole = op.results[0]
    target = state.results.stored.get(op)
    if target is None:
        target = state.results.stored[op] = result_in_hbm(state, whole)
    shape, d = state.shape(whole), int(op.dimension.value.data)
    starts, limits = [0] * len(shape), list(shape)
    starts[d] = sum(shape_of(v)[d] for v in op.operands[: list(op.operands).index(ssa)])
    limits[d] = starts[d] + shape_of(ssa)[d]
    window = slice_value(new_value(shape, state.dtype(whole)), starts, limits, [1] * len(shape))
    assert window.from_source is not None
    place = window.from_source(target)
    assert place is not None  # the array in HBM is split along one dimension
    write_all(state, state.value(ssa), place)
