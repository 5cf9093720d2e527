"""The operators by family; importing a family registers it."""

from neuronir.frontends.tensorflow.ops import (
    arrays,
    blocks,
    branches,
    convolution,
    elementwise,
    images,
    indexing,
    linear,
    lists,
    matrices,
    normalization,
    pooling,
    reductions,
    slices,
    sources,
    unary,
)

ALL = (
    arrays,
    blocks,
    branches,
    convolution,
    elementwise,
    images,
    indexing,
    linear,
    lists,
    matrices,
    normalization,
    pooling,
    reductions,
    slices,
    sources,
    unary,
)
