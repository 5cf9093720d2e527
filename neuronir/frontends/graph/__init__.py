"""Build hlo graphs for the importers: functions that ONNX and TensorFlow operators share.

Each module has one family of functions on a `BlockBuilder`: `broadcasting`, `padding`,
`reductions`, `linear`, `convolution`, `pooling`, `resizing`, `indexing`, `normalization`,
`activations`, `control_flow`, and `module`, which creates the module. The functions take and return
SSA values of tensor type with static shapes; the shape rules of the hlo dialect determine the
result types. An invalid argument raises a NeuronError without a location, and the importer adds the
node's name.
"""

from neuronir.frontends.graph.block import BlockBuilder

__all__ = ["BlockBuilder"]
