"""Import GridSample, RoiAlign and MelWeightMatrix."""

from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.frontends.graph.activations import clip
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, fold
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.reductions import mean, reduce
from neuronir.frontends.graph.sampling import in_elements, sample
from neuronir.frontends.onnx.node import Node, type_of
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names before opset 20."""

LARGEST_MATRIX = 1 << 24
"""Limit of elements of a matrix of mel filters."""


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
        # The grid's last dimension starts with the innermost spatial dimension.
        k = len(spatial) - 1 - i
        part = b.slice(flat, [0, 0, k], [batch, prod(made), k + 1])
        part = b.reshape(part, (batch, prod(made)))
        places.append(in_elements(b, part, size, corners=corners))
    padding = n.text("padding_mode", "zeros")
    found = sample(b, value, places, _MODES.get(mode, mode), padding, corners=corners)
    return b.reshape(found, (batch, channels, *made))


@operator("RoiAlign")
def _roi_align(n: Node) -> SSAValue:
    """Reduce bins of regions of interest: the mean (or maximum) of bilinear samples."""
    b, value = n.b, n[0]
    batch, channels, height, width = shape(value)
    ratio, mode = n.integer("sampling_ratio", 0), n.text("mode", "avg")
    if ratio < 1:
        refuse(
            "with sampling_ratio = 0, the number of samples depends on data", "set sampling_ratio"
        )
    if mode not in ("avg", "max"):
        refuse(f"mode '{mode}' is not known")
    half = n.opset >= 16 and n.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    made = (n.integer("output_height", 1), n.integer("output_width", 1))
    rois = b.binary_number("multiply", b.convert(n[1], f32), n.number("spatial_scale", 1.0))
    rois = b.binary_number("subtract", rois, 0.5) if half else rois
    count = shape(rois)[0]
    dims = (count, made[0], ratio, made[1], ratio)
    sides: list[list[tuple[SSAValue, SSAValue]]] = []
    for size, low, bins, at in ((height, 1, made[0], 1), (width, 0, made[1], 3)):
        places = _bin_places(b, rois, low, bins, ratio, at_least=None if half else 1.0)
        taps = _roi_taps(b, places, size)
        where = (0, at, at + 1)
        sides.append([(along(b, i, dims, *where), along(b, w, dims, *where)) for i, w in taps])
    first = along(b, b.convert(n[2], i32), dims, 0)
    rows = b.transpose(value, [0, 2, 3, 1])
    flat = b.reshape(rows, (batch * height * width, channels))
    parts: list[SSAValue] = []
    for (y, by), (x, bx) in product(*sides):
        line = b.binary("add", b.binary_number("multiply", first, height), y)
        index = b.binary("add", b.binary_number("multiply", line, width), x)
        weight = b.convert(b.binary("multiply", by, bx), element(value))
        found = take(b, flat, index, 0)
        parts.append(b.binary("multiply", found, along(b, weight, shape(found), 0, 1, 2, 3, 4)))
    joined = fold(b, "maximum" if mode == "max" else "add", parts)
    samples = [2, 4]
    result = mean(b, joined, samples) if mode == "avg" else reduce(b, joined, "maximum", samples)
    return b.transpose(result, [0, 3, 1, 2])


def _bin_places(
    b: BlockBuilder, rois: SSAValue, low: int, bins: int, ratio: int, at_least: float | None
) -> SSAValue:
    """Return the sample positions of each region along one side: (regions, bins, samples)."""
    count = shape(rois)[0]
    start, end = (
        b.reshape(b.slice(rois, [0, i], [count, i + 1]), (count,)) for i in (low, low + 2)
    )
    length = b.binary("subtract", end, start)
    if at_least is not None:
        length = b.binary("maximum", length, b.fill_like(at_least, length))
    dims = (count, bins, ratio)
    shares = (np.arange(bins)[:, None] + (np.arange(ratio)[None, :] + 0.5) / ratio) / bins
    steps = b.broadcast(b.constant(shares.astype(np.float32)), dims, [1, 2])
    within = b.binary("multiply", along(b, length, dims, 0), steps)
    return b.binary("add", along(b, start, dims, 0), within)


def _roi_taps(b: BlockBuilder, places: SSAValue, size: int) -> list[tuple[SSAValue, SSAValue]]:
    """Return the two neighbours (s32) of positions along a side, and their weights.

    The weights are zero for positions more than one element outside.
    """
    far = b.binary("or", b.compare_number(places, -1, "LT"), b.compare_number(places, size, "GT"))
    inside = clip(b, places, 0, size - 1)
    low = b.unary("floor", inside)
    part = b.binary("subtract", inside, low)
    zero = b.fill_like(0, part)
    weights = (b.binary("subtract", b.fill_like(1, part), part), part)
    return [
        (
            b.convert(clip(b, b.binary_number("add", low, k), 0, size - 1), i32),
            b.select(far, zero, weights[k]),
        )
        for k in (0, 1)
    ]


@operator("MelWeightMatrix")
def _mel_weight_matrix(n: Node) -> SSAValue:
    """Return triangular filters with centres evenly spaced in mels; all sizes must be known."""
    bins, length, rate = (int(n.scalar(i)) for i in range(3))
    low, high = float(n.scalar(3)), float(n.scalar(4))
    spectrum = length // 2 + 1
    if not 0 <= bins * spectrum <= LARGEST_MATRIX:
        refuse(f"a matrix of {spectrum} by {bins} is too large")
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
