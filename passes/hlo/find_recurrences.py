"""hlo-find-recurrences: loops and networks of ops that are recurrences become composites."""

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
    """Find `h[t] = a[t] * h[t-1] + b[t]`, and running sums, products and extremes, in fp32.

    A loop of a known number of rounds is replaced where each of its states is such a recurrence,
    whose `a` and `b` follow from arrays that the loop reads slice by slice: what a round computes
    becomes what all rounds compute, on arrays with a dimension more, and each state a composite
    `recurrence` along that dimension, whose region keeps its meaning, as a loop. So becomes a
    network of slices, products and sums that computes a recurrence in a logarithm of steps, as an
    associative scan is written out: of each row of its values it is followed which steps it
    combines. `params` have `kind`, `dimension`, and `backwards`. Needs trip counts
    (hlo-unroll-while); simplifies blocks with loops or networks.
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
