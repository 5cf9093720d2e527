"""The NEFF-style container."""
