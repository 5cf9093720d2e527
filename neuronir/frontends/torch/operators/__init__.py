"""Import ATen operators, one small function each, by family."""

from neuronir.frontends.torch.operators import (
    activations,
    bags,
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
    special,
    windows,
)

ALL = (
    activations,
    bags,
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
    special,
    windows,
)
"""Modules whose import registers operators, and reasons for refused ones."""
