"""The tile dialect: layouts of tensors on a NeuronCore, conversions, and how hlo ops are tiled."""
