"""The version of NeuronIR, which artefacts record."""

__version__ = "0.1.0"
