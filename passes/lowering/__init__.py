"""Lowering from hlo to nc."""
