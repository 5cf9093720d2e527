"""Repeated layers: found, lowered once, and run as a loop."""
