"""hlo-hoist-products: hoist dots that do not depend on earlier iterations out of loops."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.find_composites import PROGRAM_BLOCKS
from neuronir.passes.hlo.recurrences.hoist import hoist_products
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class HloHoistProductsPass(ModulePass):
    """Compute dots that do not depend on earlier iterations for several iterations at once.

    In a recurrent network, the dot of an iteration's input with weights does not depend on the
    state. The dots of as many iterations as fit on the chip become one dot with more rows, before
    an inner loop over these iterations; an outer loop covers all of them. Sums of several terms
    add the independent terms first. Needs trip counts (hlo-unroll-while). Simplifies blocks with
    loops.
    """

    name = "hlo-hoist-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in list(blocks(op)):
            parent = block.parent_op()
            if parent is None or parent.name not in PROGRAM_BLOCKS:
                continue
            if not any(inner.name == "hlo.while" for inner in block.ops):
                continue
            simplify_block(block)
            loops = [inner for inner in block.ops if inner.name == "hlo.while"]
            found = sum(hoist_products(inner) for inner in loops)
            if found:
                simplify_block(block)
            count += found
        record(self.name, "loops", count)
