"""Emit tile loops for values that are too large for SBUF."""
