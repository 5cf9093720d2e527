"""Recognisers of functions that frameworks print expanded, a file per family."""
