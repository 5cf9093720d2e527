"""Measurements of whole models: `python -m benchmarks.models`."""

from neuronir.threads import one_thread

one_thread()
