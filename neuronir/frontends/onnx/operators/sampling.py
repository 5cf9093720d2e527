"""GridSample, and the mel filters."""

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.frontends.graph.sampling import in_elements, sample
from neuronir.frontends.onnx.node import Node, type_of
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import shape

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names before opset 20."""


@operator("GridSample")
def _grid_sample(n: Node) -> SSAValue:
    b, value, grid = n.b, n[0], n[1]
    batch, channels, *spatial = shape(value)
    made = shape(grid)[1:-1]
    corners = n.flag("align_corners")
    mode = n.text("mode", "bilinear" if n.opset < 20 else "linear")
    flat = b.reshape(grid, (batch, prod(made), len(spatial)))
    places = []
    for i, size in enumerate(spatial):
        # The grid's last dimension counts from the innermost spatial dimension.
        k = len(spatial) - 1 - i
        part = b.slice(flat, [0, 0, k], [batch, prod(made), k + 1])
        part = b.reshape(part, (batch, prod(made)))
        places.append(in_elements(b, part, size, corners=corners))
    padding = n.text("padding_mode", "zeros")
    found = sample(b, value, places, _MODES.get(mode, mode), padding, corners=corners)
    return b.reshape(found, (batch, channels, *made))


@operator("MelWeightMatrix")
def _mel_weight_matrix(n: Node) -> SSAValue:
    """Triangular filters whose centres are evenly spaced in mels; all sizes have to be known."""
    bins, length, rate = (int(n.scalar(i)) for i in range(3))
    low, high = float(n.scalar(3)), float(n.scalar(4))
    spectrum = length // 2 + 1
    first, last = (2595 * np.log10(1 + f / 700) for f in (low, high))
    mels = np.arange(bins + 2) * ((last - first) / (bins + 2)) + first
    hertz = 700 * (10 ** (mels / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    out = np.zeros((spectrum, bins))
    for i in range(bins):
        lower, centre, upper = places[i : i + 3]
        if centre == lower:
            out[centre, i] = 1
        else:
            rising = np.arange(lower, centre + 1)
            out[rising, i] = (rising - lower) / (centre - lower)
        if upper != centre:
            falling = np.arange(centre, upper)
            out[falling, i] = (upper - falling) / (upper - centre)
    kind = type_of(n.integer("output_datatype", 1)) if n.has("output_datatype") else f32
    return n.b.constant(out.astype(np_dtype(kind)))
