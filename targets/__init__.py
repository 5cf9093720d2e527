"""Targets: machine descriptions, encoders, the container and the simulator."""
