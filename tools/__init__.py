"""Tools for working on NeuronIR."""
