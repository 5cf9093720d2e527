"""Bound values with interval arithmetic on hlo."""
