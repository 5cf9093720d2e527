"""Tests of the lowering from hlo to nc."""
