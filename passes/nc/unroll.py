"""nc-unroll: unroll loops. Every iteration becomes a copy of the body with its own buffers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.counts import count_load
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import ROLLED, AllocOp
from neuronir.dialects.nc.sync import BarrierOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.inline import inline_calls
from neuronir.passes.nc.listing import functions, machine_of, require_phase, trip_count
from neuronir.passes.nc.rewrite import Linear, copy_with, fold_constants, hoist_buffers

# Loops inside a remaining loop are unrolled up to this size, so that the body can be pipelined.
_BODY = 500
MANY = 32
"""From this trip count, overlapping iterations is better than unrolling: the schedule of a long
block starts the longest chains first, so that the ends of all iterations come last.
"""


@dataclass(frozen=True)
class NcUnrollPass(ModulePass):
    """Unroll small loops, so that their iterations can be scheduled together.

    A loop is replaced by its iterations if these have at most `limit` instructions in total; each
    copy of an `nc.alloc` in the body is a buffer of its own. Innermost loops of `keep` or more
    iterations are left to nc-pipeline. Loops marked `nc.rolled`, whose bodies name rotating
    buffers or whose trip count is loaded, and the loops around them are kept; other loops in a loop
    that is kept are unrolled up to 500 instructions. A function that is the whole body of a loop is
    unrolled with it.

    The pass first inlines all other calls, folds constant indices into offsets, and removes
    barriers, because dependences are exact. Buffers move to the top of the function.
    """

    name = "nc-unroll"
    limit: int = field(
        default=2000,
        metadata={"help": "largest number of instructions of an unrolled loop"},
    )
    keep: int = field(
        default=MANY,
        metadata={
            "help": "least number of iterations of an innermost loop that is kept; 0: none is"
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Unroll the loops of every function."""
        require_phase(op, self.name, "virtual")
        machine_of(op)
        with bodies_in_place(op):
            inline_calls(op)
            for func in functions(op):
                block = func.body.block
                fold_constants(block)
                drop_barriers(block)
                keep_counted_loops(block)
                unroll_small_loops(block, self.limit, self.keep)
                hoist_buffers(block)


def expanded_size(ops: Iterable[Operation]) -> int:
    """Return the number of instructions of a block after unrolling every loop in it."""
    size = 0
    for op in ops:
        if isinstance(op, LoopOp):
            size += trip_count(op) * expanded_size(body_of(op).ops)
        elif isinstance(op, InstructionOp):
            size += 1
    return size


def unroll_small_loops(block: Block, limit: int, keep: int) -> None:
    """Unroll loops of at most `limit` instructions in total, and erase empty ones.

    Innermost loops of `keep` or more iterations are kept (0: none). Rolled loops and the loops
    around them are kept.
    """
    for loop in [op for op in block.ops if isinstance(op, LoopOp)]:
        body = body_of(loop)
        rounds, size = trip_count(loop), expanded_size(body.ops)
        innermost = not any(isinstance(op, LoopOp) for op in body.ops)
        if keep and size and innermost and rounds >= keep:
            continue
        if isinstance(loop, scf.WhileOp) or any(map(_is_rolled, walk(loop))):
            unroll_small_loops(body, min(limit, _BODY), keep)
        elif rounds * size <= limit:
            unroll_loop(loop)
        else:
            unroll_small_loops(body, min(limit, _BODY), keep)


def _is_rolled(op: Operation) -> bool:
    return isinstance(op, LoopOp) and ROLLED in op.attributes


def keep_counted_loops(block: Block) -> None:
    """Mark loops whose trip count is loaded as rolled: a loop of no iterations has no first one."""
    for op in walk_in(block):
        if isinstance(op, LoopOp) and count_load(op) is not None:
            op.attributes[ROLLED] = UnitAttr()


def drop_barriers(block: Block) -> None:
    """Erase barriers: the order is known exactly from the accesses of the instructions."""
    for op in list(walk_in(block)):
        if isinstance(op, BarrierOp):
            op.detach()
            op.erase()


def unroll_loop(loop: scf.ForOp) -> None:
    """Replace a loop by its iterations; inner loops are unrolled as well."""
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
    """Copy straight-line ops; both maps are extended by the values that the copies define."""
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
