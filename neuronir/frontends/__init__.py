"""Model importers."""
