"""The Inf1 target (NeuronCore-v1)."""
