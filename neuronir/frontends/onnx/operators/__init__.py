"""Import ONNX operators, one small function each, by family."""

from neuronir.frontends.onnx import refused
from neuronir.frontends.onnx.operators import (
    activations,
    constants,
    control_flow,
    deformed,
    elementwise,
    indexing,
    linear,
    normalization,
    random,
    recurrent,
    reduction,
    resizing,
    sampling,
    shaping,
    signal,
    training,
    windows,
)

ALL = (
    activations,
    constants,
    control_flow,
    deformed,
    elementwise,
    indexing,
    linear,
    normalization,
    random,
    recurrent,
    reduction,
    refused,
    resizing,
    sampling,
    shaping,
    signal,
    training,
    windows,
)
"""Modules whose import registers operators, and reasons for refused ones."""
