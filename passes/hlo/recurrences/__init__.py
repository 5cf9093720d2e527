"""Loops and networks of ops that are recurrences: what they do in all rounds, at once."""
