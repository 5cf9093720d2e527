"""Tests of the functional half of the simulator."""
