"""Attach canonicalisation patterns to the hlo ops, for xDSL's `canonicalize`."""

from importlib import import_module

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

_RULES = "neuronir.passes.hlo.rules.patterns"


class HloCanonicalization(HasCanonicalizationPatternsTrait):
    """The rules of hlo-canonicalize for an op, as rewrite patterns.

    The rules are written with the utilities of the hlo passes, so their module is imported when a
    pass asks for patterns for the first time.
    """

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        """Return the patterns with an op of this class as root."""
        patterns: tuple[RewritePattern, ...] = import_module(_RULES).patterns_of(op.name)
        return patterns

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return no patterns: they depend on the op."""
        return ()
