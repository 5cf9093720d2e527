"""Tests of the nc dialect, its footprints and semantics."""
