"""Import models."""
