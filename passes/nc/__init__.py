"""Passes on the nc dialect."""
