"""The hlo dialect."""
