"""hlo-canonicalize: local simplifications in one walk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.rules import (
    arithmetic,
    collective,
    custom,
    data_movement,
    gathered_values,
    gathers,
    logic,
    reduction,
    shape,
    tuples,
    windows,
    words,
)
from neuronir.passes.hlo.support.walk import Rule, rewrite_module
from neuronir.passes.statistics import record

_FAMILIES = (
    *(arithmetic, logic, data_movement, gathers, gathered_values, reduction, windows, tuples),
    *(shape, collective, custom, words),
)


@cache
def canonical_rules() -> Mapping[str, Sequence[Rule]]:
    """Return all rules by op name, in the order in which they are tried."""
    merged: dict[str, tuple[Rule, ...]] = {}
    for family in _FAMILIES:
        for name, rules in family.RULES.items():
            merged[name] = merged.get(name, ()) + rules
    return merged


@dataclass(frozen=True)
class HloCanonicalizePass(ModulePass):
    """Simplify ops locally and bring shapes into canonical form.

    - Arithmetic: neutral and absorbing elements, involutions, exact chains of converts, known
      predicates, division by a power of two (becomes a multiplication), selects that limit a
      value (become a minimum or maximum), exp(x) - 1 + 1, integer sums with two scalars, rotations
      of bits in an xor.
    - Shapes: chains of reshape, broadcast, transpose, slice and concatenate are merged; reshapes
      of dimensions of size 1 sink below elementwise ops and fold into broadcasts; reductions over
      dimensions of size 1 become reshapes.
    - Indexing: dynamic slices and gathers at known indices become slices, gathers with repeated
      indices look up each row once, and elementwise ops on an array of which a gather reads a part
      are computed for that part. Padding before a windowed op becomes part of its window.
    - Collectives in groups of one device become their operands, and calls of XLA's `TopK` a topk.

    All rewrites are exact, except for the sign of zeros (x + 0 becomes x, as in XLA) and for
    exp(x) - 1 + 1, which becomes exp(x) without two roundings.
    The pass makes one forward walk and visits the ops that its rules create. The same rules are the
    canonicalisation patterns of the ops, so `canonicalize` applies them too.
    """

    name = "hlo-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "rewrites", rewrite_module(op, canonical_rules()))
