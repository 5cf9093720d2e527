"""Lower single ops: elementwise, movement, reductions, windows, indexing."""
