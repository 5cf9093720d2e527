"""Loops written out: every round a copy of the body with its own buffers."""

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import ROLLED, AllocOp
from neuronir.dialects.nc.sync import BarrierOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.listing import trip_count
from neuronir.passes.nc.rewrite import Linear, copy_with

# Loops inside a loop that stays are written out up to this size, so that the body can be pipelined.
_BODY = 500
# Rounds from which on overlapping them beats writing them out: the schedule of a long block takes
# what begins the longest chain first, so the ends of all rounds come last.
_MANY = 32


def expanded_size(ops: Iterable[Operation]) -> int:
    """Instructions of the ops of a block when every loop in it is written out."""
    size = 0
    for op in ops:
        if isinstance(op, scf.ForOp):
            size += trip_count(op) * expanded_size(op.body.block.ops)
        elif isinstance(op, InstructionOp):
            size += 1
    return size


def unroll_small_loops(block: Block, limit: int, pipeline: bool) -> None:
    """Write out the loops of at most `limit` instructions in all, and remove the empty ones; with
    `pipeline` innermost loops of many rounds stay. Rolled loops and those around them stay."""
    for loop in [op for op in block.ops if isinstance(op, scf.ForOp)]:
        body = loop.body.block
        rounds, size = trip_count(loop), expanded_size(body.ops)
        innermost = not any(isinstance(op, scf.ForOp) for op in body.ops)
        if pipeline and size and innermost and rounds >= _MANY:
            continue
        if any(isinstance(op, scf.ForOp) and ROLLED in op.attributes for op in walk(loop)):
            unroll_small_loops(body, min(limit, _BODY), pipeline)
        elif rounds * size <= limit:
            unroll_loop(loop)
        else:
            unroll_small_loops(body, min(limit, _BODY), pipeline)


def drop_barriers(block: Block) -> None:
    """Remove barriers: what must stay in order is known exactly, from what instructions touch."""
    for op in list(walk_in(block)):
        if isinstance(op, BarrierOp):
            op.detach()
            op.erase()


def unroll_loop(loop: scf.ForOp) -> None:
    """Replace a loop by its rounds; loops inside are written out as well."""
    for inner in [op for op in loop.body.block.ops if isinstance(op, scf.ForOp)]:
        unroll_loop(inner)
    block = loop.parent
    if block is None:
        return
    variable = loop.body.block.args[0]
    body = list(loop.body.block.ops)
    for number in range(trip_count(loop)):
        block.insert_ops_before(copy_round(body, {variable: Linear(None, 0, number)}, {}), loop)
    loop.detach()
    loop.erase()


def copy_round(
    body: list[Operation], indices: dict[SSAValue, Linear], buffers: dict[SSAValue, SSAValue]
) -> list[Operation]:
    """A copy of straight-line ops; both maps are extended by what the copy defines."""
    out: list[Operation] = []
    for op in body:
        if isinstance(op, InstructionOp):
            copy: Operation = copy_with(op, buffers, indices)
            for old, new in zip(op.results, copy.results, strict=True):
                indices[old] = Linear(new, 1, 0)
        elif isinstance(op, scf.YieldOp):
            continue
        else:
            copy = clone(op, {**buffers, **_values(indices)})
            if isinstance(op, AllocOp):
                buffers[op.buffer] = copy.results[0]
            else:
                for old, new in zip(op.results, copy.results, strict=True):
                    buffers[old] = new
        out.append(copy)
    return out


def _values(indices: dict[SSAValue, Linear]) -> dict[SSAValue, SSAValue]:
    return {
        old: new.value
        for old, new in indices.items()
        if new.value is not None and new.scale == 1 and new.const == 0
    }
