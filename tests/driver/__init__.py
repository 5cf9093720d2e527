"""Tests of the driver, neuronx-cc and neuron-sim."""
