"""The generated pages of the documentation: `python -m tools.reference` writes them."""
