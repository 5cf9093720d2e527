"""Bringing values from one layout, type or memory into another."""
