"""Offer the rules of hlo-canonicalize as xDSL rewrite patterns."""

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from neuronir.passes.hlo.canonicalize import canonical_rules
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import COMPOSITE, Rule


class RulesPattern(RewritePattern):
    """Apply the first rule that matches an op.

    Ops in composites are not changed, nor ops on tensors with layouts, which the rules do not know.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Replace `op` by the value of a rule, and let the rewriter visit the new ops."""
        if any(_has_encoding(value.type) for value in (*op.operands, *op.results)):
            return
        parent = op.parent_op()
        while parent is not None:
            if parent.name == COMPOSITE:
                return
            parent = parent.parent_op()
        emitter = Emitter(op)
        for rule in self.rules:
            value = rule(op, emitter)
            if value is not None:
                for new in emitter.created:
                    rewriter.handle_operation_insertion(new)
                rewriter.replace(op, [], [value])
                return


def _has_encoding(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and not isinstance(type_.encoding, NoneAttr)


@cache
def patterns_of(name: str) -> tuple[RewritePattern, ...]:
    """Return the patterns for the op of this name; empty if it has no rules."""
    rules = canonical_rules().get(name)
    return () if rules is None else (RulesPattern(rules),)
