"""Recognise functions that frameworks print expanded, one file per family."""
