"""Building hlo graphs for the importers: what ONNX and TensorFlow operators have in common.

Each module holds one family of functions on `BlockBuilder`: `broadcasting`, `padding`,
`reductions`, `linear`, `convolution`, `pooling`, `resizing`, `indexing`, `normalization`,
`activations`, `control_flow`, and `module` makes the module around them. They take and give SSA
values of tensor type with static shapes; result types follow from the hlo dialect's shape rules.
A wrong argument is a NeuronError without a location: the importer adds the node's name.
"""

from neuronir.frontends.graph.block import BlockBuilder

__all__ = ["BlockBuilder"]
