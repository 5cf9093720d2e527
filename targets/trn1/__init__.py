"""The Trn1 target (NeuronCore-v2)."""
