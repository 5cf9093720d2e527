"""Tile loops around values that are too large for SBUF."""
