"""Products of matrices, their eviction from PSUM, and attention."""
