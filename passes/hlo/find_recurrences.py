"""hlo-find-recurrences: outline recurrences, from loops or from scan networks."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.find_composites import PROGRAM_BLOCKS
from neuronir.passes.hlo.recurrences.loops import dissolve
from neuronir.passes.hlo.recurrences.prefix import find_prefixes, interleaves
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class HloFindRecurrencesPass(ModulePass):
    """Outline linear recurrences and running reductions in fp32 as composites.

    The pass finds `h[t] = a[t] * h[t-1] + b[t]` and running sums, products, maxima and minima in
    two forms:

    - A loop with a known trip count whose states are all recurrences of values that depend on the
      iteration only through slices of arrays. The values of all iterations are computed at once,
      with one more dimension, and each state becomes a composite `recurrence` along that
      dimension.
    - The network of slices, products and sums that an associative scan unrolls to. The pass tracks
      which steps each row of its values combines.

    The region of the composite keeps its semantics, as a loop. `params` has `kind`, `dimension`
    and `backwards`. Needs trip counts (hlo-unroll-while). Simplifies blocks with loops or scan
    networks.
    """

    name = "hlo-find-recurrences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in list(blocks(op)):
            parent = block.parent_op()
            if parent is None or parent.name not in PROGRAM_BLOCKS:
                continue
            if not any(inner.name == "hlo.while" or interleaves(inner) for inner in block.ops):
                continue
            simplify_block(block)
            loops = [inner for inner in block.ops if inner.name == "hlo.while"]
            found = sum(dissolve(inner) for inner in loops)
            if found:
                simplify_block(block)
            count += found + find_prefixes(block)
        record(self.name, "recurrences", count)
