"""Lower dots, their eviction from PSUM, and attention."""
