"""A plugin for NeuronIR: the toy dialect, a pass that lowers it to hlo, and a target."""
