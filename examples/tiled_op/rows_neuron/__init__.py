"""A plugin for NeuronIR: the rows dialect, whose op has its own tiling and lowering rule."""
