"""hlo-find-composites: outline functions that frameworks print expanded."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.composites.activation import CURVED, find_activations
from neuronir.passes.hlo.composites.batch_norm import find_batch_norms
from neuronir.passes.hlo.composites.norms import find_norms
from neuronir.passes.hlo.composites.softmax import find_softmax
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

_ROOTS = frozenset(("hlo.sqrt", "hlo.rsqrt"))
_FINDERS = (
    (find_softmax, frozenset(("hlo.exponential",))),
    (find_norms, _ROOTS),
    (find_batch_norms, _ROOTS),
    (find_activations, CURVED),
)
"""Recognisers, with the ops that every match contains."""

PROGRAM_BLOCKS = ("func.func", "hlo.while", "hlo.conditional")
"""Ops with blocks on whole arrays (not reducers of scalars, not the regions of composites)."""


@dataclass(frozen=True)
class HloFindCompositesPass(ModulePass):
    """Outline softmax, norms and activation functions as composites.

    The pass recognises softmax, layer norm, RMS norm and batch norm by structure. It recognises
    gelu, silu, erf, logistic and softplus by value: it evaluates each subgraph with one input on a
    fixed grid and compares the result with the exact function, within rounding. A subgraph is
    outlined only if its intermediate values have no other users. The region of the composite
    contains the original ops, so its semantics are unchanged. `params` records what was
    recognised: `axes`, `axis`, `feature_index`, `epsilon`, and whether a scale and an offset are
    among the operands. Runs after the simplifying passes, because it relies on canonical shapes.
    """

    name = "hlo-find-composites"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in blocks(op):
            parent = block.parent_op()
            if parent is None or parent.name not in PROGRAM_BLOCKS:
                continue
            for find, needed in _FINDERS:
                if any(inner.name in needed for inner in block.ops):
                    count += find(block)
        record(self.name, "composites", count)
