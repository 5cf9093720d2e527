"""Define the numpy semantics of hlo ops: one file for each family, and a registry."""

from neuronir.dialects.hlo.semantics.elementwise import apply
from neuronir.dialects.hlo.semantics.evaluation import evaluate
from neuronir.dialects.hlo.semantics.registry import has_semantics

__all__ = ["apply", "evaluate", "has_semantics"]
