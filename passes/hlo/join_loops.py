"""hlo-join-loops: run independent recurrent loops side by side."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.find_composites import PROGRAM_BLOCKS
from neuronir.passes.hlo.recurrences.join import join_loops
from neuronir.passes.hlo.recurrences.mirror import mirror_reads, mirror_writes
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class HloJoinLoopsPass(ModulePass):
    """Join recurrent loops that have equal trip counts and do not depend on each other.

    An iteration of a recurrent network is a chain of small ops that wait for each other. The
    directions of a bidirectional network are two such loops. In the joined loop, the ops of one
    direction run while those of the other wait.

        %f = hlo.while %a trip_count = 64 ...
        %b = hlo.while %c trip_count = 64 ...   ->   %fb = hlo.while %ac trip_count = 64 ...

    If a loop accesses an array position by position, and the array is reversed before or after the
    loop, the loop accesses it in the opposite order instead.

    Loops are not joined if the weights and states of the joined loop would take more than 8
    MiB. Needs trip counts (hlo-unroll-while). Simplifies blocks with changed loops.
    """

    name = "hlo-join-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = arrays = 0
        for block in list(blocks(op)):
            parent = block.parent_op()
            if parent is None or parent.name not in PROGRAM_BLOCKS:
                continue
            loops = [inner for inner in block.ops if inner.name == "hlo.while"]
            turned = sum(mirror_reads(loop) + mirror_writes(loop) for loop in loops)
            joined = join_loops(block)
            if turned or joined:
                simplify_block(block)
            arrays += turned
            count += joined
        record(self.name, "arrays accessed from the end", arrays)
        record(self.name, "loops", count)
