"""Tests of the instruction encoding and the NEFF container."""
