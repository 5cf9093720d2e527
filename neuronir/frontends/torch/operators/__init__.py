"""One small function for each ATen operator, by family."""

from neuronir.frontends.torch.operators import (
    activations,
    creation,
    elementwise,
    gradients,
    indexing,
    linear,
    normalization,
    recurrent,
    reduction,
    refused,
    resizing,
    shaping,
    windows,
)

ALL = (
    activations,
    creation,
    elementwise,
    gradients,
    indexing,
    linear,
    normalization,
    recurrent,
    reduction,
    refused,
    resizing,
    shaping,
    windows,
)
"""The modules whose import registers operators, and reasons for those that are refused."""
