"""hlo-dce: erase ops that no result needs."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.passes.hlo.inline import drop_unused_functions
from neuronir.passes.hlo.support.walk import COMPOSITE, functions, is_dead
from neuronir.passes.hlo.while_carry import forward_invariants, narrow_while
from neuronir.passes.statistics import record


def sweep(block: Block) -> int:
    """Erase dead ops, users before producers, and then dead ops in the regions of the remaining
    ops.

    Composites are skipped, because all of their ops are needed.
    """
    count = 0
    op = block.last_op
    while op is not None:
        previous = op.prev_op
        if op.name == "hlo.while":
            forward_invariants(op)
        if is_dead(op):
            op.detach()
            op.erase()
            count += 1
        else:
            for region in op.regions if op.name != COMPOSITE else ():
                for inner in region.blocks:
                    count += sweep(inner)
            loop = narrow_while(op) if op.name == "hlo.while" else None
            if loop is not None:
                # The operands of the dropped elements are now dead, in the body and before the
                # loop.
                for region in loop.regions:
                    for inner in region.blocks:
                        count += sweep(inner)
                previous = loop.prev_op
        op = previous
    return count


@dataclass(frozen=True)
class HloDcePass(ModulePass):
    """Remove ops without users and side effects, and unused private functions.

    The pass makes one backward walk. It also removes elements of the tuple that a while loop
    carries if no user, no condition and no other live element reads them. Users of an element
    that the loop does not change read its initial value, so a loop without other users is removed.
    """

    name = "hlo-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erased = sum(sweep(block) for f in functions(op) for block in f.body.blocks)
        record(self.name, "ops-erased", erased)
        record(self.name, "functions-erased", drop_unused_functions(op))
