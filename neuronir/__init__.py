"""NeuronIR: an open compiler and simulator for AWS NeuronCores."""

__version__ = "0.1.0"
