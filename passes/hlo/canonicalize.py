"""hlo-canonicalize: local simplifications in one walk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.rules import (
    arithmetic,
    data_movement,
    gathers,
    logic,
    reduction,
    shape,
    tuples,
    windows,
)
from neuronir.passes.hlo.support.walk import Rule, rewrite_module
from neuronir.passes.statistics import record


@cache
def canonical_rules() -> Mapping[str, Sequence[Rule]]:
    """All the rules by op name, in the order in which they are tried."""
    merged: dict[str, tuple[Rule, ...]] = {}
    for family in (arithmetic, logic, data_movement, gathers, reduction, windows, tuples, shape):
        for name, rules in family.RULES.items():
            merged[name] = merged.get(name, ()) + rules
    return merged


@dataclass(frozen=True)
class HloCanonicalizePass(ModulePass):
    """Simplify ops locally and bring shapes into one form.

    Neutral and absorbing elements, involutions, exact convert chains, known predicates; chains of
    reshape, broadcast, transpose, slice and concatenate merge; reshapes that only move dimensions
    of size 1 sink below elementwise ops and vanish into broadcasts; reductions over dimensions of
    size 1 become reshapes; dynamic slices and gathers at known indices become slices; gathers whose
    indices repeat look each row up once; padding in front of a window becomes the window's;
    division by a power of two becomes a multiplication.
    Everything is exact except that x + 0 becomes x also where that keeps a negative zero, as in
    XLA. One forward walk; what a rule creates is visited at once.
    """

    name = "hlo-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "rewrites", rewrite_module(op, canonical_rules()))
