"""Tests of the TensorFlow frontend."""
