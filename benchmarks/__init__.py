"""Measurements of whole models: `python -m benchmarks.models`."""
