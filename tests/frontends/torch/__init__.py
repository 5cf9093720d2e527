"""Tests of the importers and of what they build with."""
