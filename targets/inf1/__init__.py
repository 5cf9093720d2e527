"""The Inf1 target (NeuronCore-v1)."""

from neuronir.targets.inf1.target import TARGET

__all__ = ["TARGET"]
