"""Tests of neuron-explore."""
