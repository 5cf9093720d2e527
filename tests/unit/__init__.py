"""Tests of small parts and of the repository's layout."""
