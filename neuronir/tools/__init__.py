"""Generators of documentation and other helpers that maintainers run."""
