"""Peel the last iteration of a loop whose iterations also work for the next one."""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.names import index_constant
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.listing import trip_count
from neuronir.passes.nc.rewrite import Linear
from neuronir.passes.nc.unroll import copy_round

AHEAD = "nc.ahead"
"""Marks instructions of a loop that belong to the next iteration, until nc-prefetch has run."""

TAIL = "nc.tail"
"""Marks the ops of the last iteration that nc-rotate peeled, until nc-prefetch has run."""


def last_iteration(order: Sequence[Operation]) -> list[Operation]:
    """Return the ops of a body in the last iteration, without work for a next one."""
    rest = [op for op in order if AHEAD not in op.attributes]
    used = {value for op in rest for value in op.operands}
    return [op for op in rest if not isinstance(op, AllocOp) or op.buffer in used]


def peel(loop: scf.ForOp) -> None:
    """Move the last iteration of a straight-line loop behind it, where no work is done ahead.

    Its ops are marked, so that `unpeel` finds them.
    """
    block, trips = loop.parent, trip_count(loop)
    assert block is not None
    body = last_iteration(list(ops_of(loop.body.block)))
    tail = copy_round(body, {loop.body.block.args[0]: Linear(None, 0, trips - 1)}, {})
    for op in tail:
        op.attributes[TAIL] = UnitAttr()
    block.insert_ops_after(tail, loop)
    set_trip_count(loop, trips - 1)


def unpeel(loop: scf.ForOp) -> None:
    """Undo `peel`, if it was applied to this loop."""
    tail: list[Operation] = []
    op = loop.next_op
    while op is not None and TAIL in op.attributes:
        tail.append(op)
        op = op.next_op
    if not tail:
        return
    buffers = dict.fromkeys(value.owner for op in tail for value in op.operands)
    for op in reversed(tail):
        Rewriter.erase_op(op)
    for owner in buffers:  # those that moved to the top of the function
        if isinstance(owner, AllocOp) and owner.parent is not None and TAIL in owner.attributes:
            Rewriter.erase_op(owner)
    set_trip_count(loop, trip_count(loop) + 1)


def set_trip_count(loop: scf.ForOp, trips: int) -> None:
    """Let a loop run from 0 to `trips`."""
    block, old = loop.parent, loop.ub.owner
    assert block is not None
    bound = index_constant(trips)
    block.insert_op_before(bound, loop)
    loop.operands[1] = bound.result
    if isinstance(old, arith.ConstantOp) and not old.result.uses:
        Rewriter.erase_op(old)
