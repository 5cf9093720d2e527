"""Import DeformConv and MaxRoiPool, whose window positions depend on data."""

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, binary
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.linear import einsum
from neuronir.frontends.graph.reductions import reduce
from neuronir.frontends.graph.sampling import sample
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.values import element, shape


@operator("DeformConv")
def _deform_conv(n: Node) -> SSAValue:
    """Convolve with window elements that are moved by offsets and weighted by a mask.

    Elements are interpolated between their neighbours (zero outside), then multiplied by the
    kernel.
    """
    b, value, kernel = n.b, n[0], n[1]
    batch, channels, *spatial = shape(value)
    features, _, *window = shape(kernel)
    count, groups, parts = len(spatial), n.integer("group", 1), n.integer("offset_group", 1)
    places = shape(n[2])[2:]
    taps, points = prod(window), prod(places)
    if groups < 1 or parts < 1 or channels % groups or channels % parts or features % groups:
        refuse(f"{channels} channels and {features} features do not divide into the groups")
    offsets = b.reshape(n[2], (batch, parts, taps, count, points))
    strides = n.ints("strides") or [1] * count
    dilations = n.ints("dilations") or [1] * count
    pads = n.ints("pads") or [0] * (2 * count)
    regular = _regular_places(window, list(places), strides, dilations, pads)
    own = channels // parts
    found: list[SSAValue] = []
    for part in range(parts):
        low = [0, part * own, *[0] * count]
        image = b.slice(value, low, [batch, (part + 1) * own, *spatial])
        moved = []
        for d in range(count):
            offset = b.slice(offsets, [0, part, 0, d, 0], [batch, part + 1, taps, d + 1, points])
            offset = b.convert(b.reshape(offset, (batch, taps * points)), f32)
            moved.append(binary(b, "add", offset, b.constant(regular[d].reshape(1, -1))))
        samples = sample(b, image, moved, "linear", "zeros", corners=False)
        samples = b.reshape(samples, (batch, own, taps, points))
        if n.get(4) is not None:
            mask = b.reshape(n[4], (batch, parts, taps, points))
            mask = b.slice(mask, [0, part, 0, 0], [batch, part + 1, taps, points])
            samples = binary(b, "multiply", samples, mask)
        found.append(samples)
    columns = b.concatenate(found, 1)
    columns = b.reshape(columns, (batch, groups, channels // groups * taps, points))
    weights = b.reshape(kernel, (groups, features // groups, channels // groups * taps))
    made = b.reshape(einsum(b, "gok,ngkp->ngop", [weights, columns]), (batch, features, *places))
    if n.get(3) is None:
        return made
    return b.binary("add", made, along(b, n[3], shape(made), 1))


def _regular_places(
    window: list[int], places: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Return the positions of window elements without offsets: for each dimension [taps *
    positions].
    """
    found = []
    for d in range(len(window)):
        tap = np.arange(window[d]) * dilations[d] - pads[d]
        start = np.arange(places[d]) * strides[d]
        dims = [1] * (2 * len(window))
        dims[d] = window[d]
        taps = tap.reshape(dims)
        dims[d] = 1
        dims[len(window) + d] = places[d]
        whole = np.broadcast_to(taps + start.reshape(dims), (*window, *places))
        found.append(np.ascontiguousarray(whole.reshape(-1).astype(np.float32)))
    return found


@operator("MaxRoiPool")
def _max_roi_pool(n: Node) -> SSAValue:
    """Return the largest element of each bin of regions of interest; zero for a bin outside."""
    b, value = n.b, n[0]
    _, _, height, width = shape(value)
    pooled = n.ints("pooled_shape")
    if pooled is None or len(pooled) != 2 or min(pooled) < 1:
        refuse("'pooled_shape' must be two sizes")
    count = shape(n[1])[0]
    rois = b.convert(n[1], f32)
    first = b.convert(b.reshape(b.slice(rois, [0, 0], [count, 1]), (count,)), i32)
    corners = b.binary_number("multiply", rois, n.number("spatial_scale", 1.0))
    corners = b.unary("round_nearest_afz", corners)
    found = take(b, value, first, 0)
    for axis, size, bins, column in ((2, height, pooled[0], 2), (3, width, pooled[1], 1)):
        ends = [
            b.reshape(b.slice(corners, [0, k], [count, k + 1]), (count,))
            for k in (column, column + 2)
        ]
        found = _largest_in_bins(b, found, axis, size, bins, ends)
    # An empty bin keeps the minimum of the type, which is below every element.
    least = neutral_element("maximum", element(value))
    assert least is not None
    empty = b.compare(found, b.fill_like(least, found), "EQ")
    return b.select(empty, b.fill_like(0, found), found)


def _largest_in_bins(
    b: BlockBuilder, value: SSAValue, axis: int, size: int, bins: int, ends: list[SSAValue]
) -> SSAValue:
    """Return the largest element of each of `bins` bins between two positions of an axis."""
    start, stop = ends
    length = b.binary_number("add", b.binary("subtract", stop, start), 1)
    length = b.binary("maximum", length, b.fill_like(1, length))
    step = b.binary_number("divide", length, bins)
    least = neutral_element("maximum", element(value))
    assert least is not None
    floor = b.fill_like(least, value)
    places = b.iota(shape(value), axis, f32)
    parts: list[SSAValue] = []
    for i in range(bins):
        low = b.unary("floor", b.binary_number("multiply", step, i))
        high = b.unary("ceil", b.binary_number("multiply", step, i + 1))
        low, high = (along(b, b.binary("add", v, start), shape(value), 0) for v in (low, high))
        inside = b.binary("and", b.compare(places, low, "GE"), b.compare(places, high, "LT"))
        parts.append(reduce(b, b.select(inside, value, floor), "maximum", [axis], keep=True))
    return b.concatenate(parts, axis)
