"""The Trn1 target (NeuronCore-v2)."""

from neuronir.targets.trn1.target import TARGET

__all__ = ["TARGET"]
