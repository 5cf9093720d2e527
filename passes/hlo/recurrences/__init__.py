"""Evaluate all iterations of recurrences, in loops and scan networks, at once."""
