"""Errors, dtypes and source locations that every floor needs."""
