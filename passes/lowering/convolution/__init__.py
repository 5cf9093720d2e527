"""Convolutions as matmuls over filter taps, and ways to pack few features."""
