"""Utilities of the hlo passes: reading values, building ops, walking blocks."""
