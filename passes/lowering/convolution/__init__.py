"""Lower convolutions to matmuls over filter taps, with several ways to pack few features."""
