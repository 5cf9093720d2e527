"""What each hlo op computes, in numpy: one family a file; the registry binds ops to functions."""

from neuronir.dialects.hlo.semantics.elementwise import apply
from neuronir.dialects.hlo.semantics.evaluation import evaluate
from neuronir.dialects.hlo.semantics.registry import has_semantics

__all__ = ["apply", "evaluate", "has_semantics"]
