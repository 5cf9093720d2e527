"""Passes on the hlo dialect."""
