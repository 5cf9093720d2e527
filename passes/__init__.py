"""Transformations: one pass a file, and the named pipelines."""
