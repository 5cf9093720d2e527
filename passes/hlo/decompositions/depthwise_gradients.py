"""Decompose depthwise convolutions whose kernel is as large as an image.

These are the gradients of depthwise convolutions with respect to their kernel.
"""

from itertools import pairwise, product
from math import prod

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.hlo.flops import FLOPS, note_flops, share_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.shifts import part
from neuronir.passes.hlo.support.values import element, integer, ints, shape, tensor

_SUMMED = (f32, bf16, f16)
"""Element types that f32 contains."""
_MANY_TAPS = 64
"""From this number of taps, a kernel is assumed to be an image."""
_MOST_PLACES = 128
"""Limit of result positions, each of which becomes a product and a sum over all taps."""
ROWS = 128
"""Input and output features that the tensor engine processes at once."""


def joined_gradient(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute the gradient of every pair of features in blocks of up to 128, and keep the diagonal.

    The tensor engine multiplies 128 x 128 features in the time of one, with the pixels on
    partitions, as images lie in memory; one by one, features would have to be on partitions.
    Returns None for other convolutions.
    """
    x, kernel = op.operands
    groups, out = integer(op, "batch_group_count", 1), shape(op.results[0])
    batch, k_out = integer(op, "input_batch_dim"), integer(op, "kernel_output_feature_dim")
    taps = [shape(kernel)[d] for d in ints(op, "kernel_spatial_dims")]
    places = [out[d] for d in ints(op, "output_spatial_dims")]
    if groups == 1 or groups != shape(x)[batch] or groups != shape(kernel)[k_out]:
        return None
    if prod(taps) < prod(places) or prod(places) > _MOST_PLACES:
        return None
    if element(op.results[0]) not in _SUMMED:
        return None
    note_flops(op)
    o_feature = integer(op, "output_feature_dim")
    blocks = -(-groups // ROWS)
    ends = [groups * i // blocks for i in range(blocks + 1)]
    parts = []
    for low, high in pairwise(ends):
        one, other = (part(v, d, low, high, e) for v, d in ((x, batch), (kernel, k_out)))
        parts.append(_diagonal(op, e, one, other, high - low))
    return parts[0] if len(parts) == 1 else e.concatenate(parts, o_feature)


def _diagonal(op: Operation, e: Emitter, x: SSAValue, kernel: SSAValue, size: int) -> SSAValue:
    """Convolve a block of features, and keep what each has with itself."""
    batch, feature = integer(op, "output_batch_dim"), integer(op, "output_feature_dim")
    dims = list(shape(op.results[0]))
    dims[batch] = dims[feature] = size
    properties = dict(op.properties) | {"batch_group_count": i64_attr(1)}
    pairs = e.emit("convolution", [x, kernel], tensor(tuple(dims), f32), properties)
    e.created[-1].attributes[FLOPS] = share_of(op, size, shape(op.results[0])[feature])
    own = e.broadcast(e.constant(np.eye(size, dtype=np.bool_)), dims, sorted((batch, feature)))
    kept = e.select(own, pairs, e.fill_like(0, pairs))
    dims[batch] = 1
    total = e.reshape(e.reduce(kept, 0, [batch], "add"), dims)
    return e.convert(total, element(op.results[0]))


def depthwise_gradient(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute each result position as an elementwise product and a sum, accumulated in f32.

    Returns None for other convolutions. A tap-by-tap form, which suits the convolutions of a
    network, would need 784 taps for the gradient of 28 x 28 images, although its result has 3 x 3
    positions.
    """
    x, kernel = op.operands
    groups, out = integer(op, "feature_group_count", 1), shape(op.results[0])
    k_in, k_out = integer(op, "kernel_input_feature_dim"), integer(op, "kernel_output_feature_dim")
    k_spatial, o_spatial = ints(op, "kernel_spatial_dims"), ints(op, "output_spatial_dims")
    taps = [shape(kernel)[d] for d in k_spatial]
    places = [out[d] for d in o_spatial]
    if groups == 1 or shape(kernel)[k_out] != groups or element(op.results[0]) not in _SUMMED:
        return None
    if prod(taps) <= _MANY_TAPS or prod(places) > _MOST_PLACES:
        return None
    if any(n != 1 for n in ints(op, "lhs_dilation")) or any(ints(op, "window_reversal")):
        return None
    batch, feature = integer(op, "input_batch_dim"), integer(op, "input_feature_dim")
    spatial = [d + (d > feature) for d in ints(op, "input_spatial_dims")]
    image = _image(op, e, groups)
    own = [feature, feature + 1, *spatial]  # group, feature of the group, taps
    order = sorted(range(len(own)), key=lambda i: own[i])
    turned = e.transpose(e.convert(kernel, f32), [[k_out, k_in, *k_spatial][i] for i in order])
    rows = batch + (batch > feature)
    found: list[SSAValue] = []
    for place in product(*(range(n) for n in places)):
        part = _part(op, e, image, spatial, place, taps)
        spread = e.broadcast(turned, shape(part), [own[i] for i in order])
        total = e.reduce(e.binary("multiply", part, spread), 0, sorted(own[1:]), "add")
        found.append(_placed(op, e, total, rows < feature))
    for d, width in reversed(list(zip(o_spatial, places, strict=True))):
        found = [e.concatenate(found[i : i + width], d) for i in range(0, len(found), width)]
    return e.convert(found[0], element(op.results[0]))


def _image(op: Operation, e: Emitter, groups: int) -> SSAValue:
    """Pad the image in f32 and split its features into groups."""
    x, feature = op.operands[0], integer(op, "input_feature_dim")
    padding = ints(op, "padding")
    low, high = [0] * len(shape(x)), [0] * len(shape(x))
    for i, d in enumerate(ints(op, "input_spatial_dims")):
        low[d], high[d] = padding[2 * i : 2 * i + 2]
    image = e.convert(x, f32)
    image = e.pad(image, e.scalar(0, f32), low, high)
    dims = shape(image)
    cut = (*dims[:feature], groups, dims[feature] // groups, *dims[feature + 1 :])
    return e.reshape(image, cut)


def _part(
    op: Operation,
    e: Emitter,
    image: SSAValue,
    spatial: list[int],
    place: tuple[int, ...],
    taps: list[int],
) -> SSAValue:
    """Return the part of the image that the kernel covers at a position of the result."""
    strides, dilation = ints(op, "window_strides"), ints(op, "rhs_dilation")
    starts, limits = [0] * len(shape(image)), list(shape(image))
    steps = [1] * len(limits)
    for i, d in enumerate(spatial):
        starts[d], steps[d] = place[i] * strides[i], dilation[i]
        limits[d] = starts[d] + (taps[i] - 1) * steps[d] + 1
    return e.slice(image, starts, limits, steps)


def _placed(op: Operation, e: Emitter, total: SSAValue, batch_first: bool) -> SSAValue:
    """Reshape a value per batch and group to one position of the result."""
    first = integer(op, "output_batch_dim") < integer(op, "output_feature_dim")
    if first != batch_first:
        total = e.transpose(total, [1, 0])
    o_spatial = ints(op, "output_spatial_dims")
    sizes = [1 if d in o_spatial else n for d, n in enumerate(shape(op.results[0]))]
    return e.reshape(total, sizes)
