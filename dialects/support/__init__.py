"""Errors, dtypes and source locations that all layers use."""
