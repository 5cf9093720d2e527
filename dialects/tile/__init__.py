"""The tile dialect: layouts of tensors on a NeuronCore, layout conversions, and tiling rules."""
