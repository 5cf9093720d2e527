"""How single ops are lowered: elementwise, movement, reductions, windows, indexing."""
