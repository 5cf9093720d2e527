"""Join the taps of a convolution along one dimension to its features, if these are few."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.hlo.flops import pass_flops
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.lowering.convolution.numbers import Numbers

ROWS = 128
"""Limit of features times joined taps: rows of the tensor engine."""
LEAST_ROWS = 32
"""From this number of positions, the other dimensions of the image fill enough partitions."""


def padded_image(
    build: Emitter, image: SSAValue, n: Numbers, dims: Sequence[int] | None = None
) -> SSAValue:
    """Pad the image, and dilate it with zeros, along spatial dimensions `dims` (default: all)."""
    rank = len(shape_of(image))
    low, high, gaps = [0] * rank, [0] * rank, [0] * rank
    for i in range(len(n.spatial)) if dims is None else dims:
        d = n.spatial[i]
        low[d], high[d], gaps[d] = n.low[i], n.high[i], n.lhs_dilation[i] - 1
    if any(gaps):
        image = build.pad(image, build.scalar(0, element(image)), [0] * rank, [0] * rank, gaps)
    if any(v < 0 for v in (*low, *high)):
        shape = shape_of(image)
        starts = [max(0, -v) for v in low]
        limits = [m - max(0, -v) for m, v in zip(shape, high, strict=True)]
        image = build.slice(image, starts, limits)
    return build.pad(
        image,
        build.scalar(0, element(image)),
        [max(0, v) for v in low],
        [max(0, v) for v in high],
    )


def joined_dimension(op: ConvolutionOp, n: Numbers) -> int | None:
    """Return the innermost spatial dimension with several taps, or None if joining its taps to the
    features exceeds the rows of the tensor engine or leaves too few positions for partitions."""
    image, kernel, out = shape_of(op.lhs), shape_of(op.rhs), shape_of(op.result)
    order = sorted(range(len(n.spatial)), key=lambda i: -n.spatial[i])
    found = next((i for i in order if kernel[n.k_spatial[i]] > 1), None)
    if found is None or n.groups != 1 or n.lhs_dilation[found] != 1:
        return None
    if kernel[n.k_spatial[found]] * kernel[n.k_in] > ROWS:
        return None
    others = [m for i, m in enumerate(image) if i not in (n.feature, n.spatial[found])]
    return found if prod(others) >= LEAST_ROWS and out[n.o_spatial[found]] > 1 else None


def join_taps(build: Emitter, op: ConvolutionOp, n: Numbers, along: int) -> SSAValue:
    """Turn the taps along spatial dimension `along` into features:

        %r = hlo.convolution %x, %w            %c = hlo.concatenate %x[:, 0:], %x[:, 1:], %x[:, 2:]
          3x3, 32 features               ->    %r = hlo.convolution %c, (hlo.reshape %w)
                                                 3x1, 96 features

    Positions of the other dimensions lie on partitions while the slices are concatenated.
    """
    others = [i for i in range(len(n.spatial)) if i != along]
    image, kernel, out = op.lhs, op.rhs, shape_of(op.result)
    image = _gathered(build, padded_image(build, image, n, [along]), op, n, along)
    image = padded_image(build, image, n, others)
    order = [n.batch, *(n.spatial[i] for i in (*others, along)), n.feature]
    image = build.transpose(image, order)
    kernel = build.transpose(
        kernel, [*(n.k_spatial[i] for i in others), n.k_spatial[along], n.k_in, n.k_out]
    )
    taps = shape_of(kernel)
    kernel = build.reshape(kernel, [*taps[:-3], 1, taps[-3] * taps[-2], taps[-1]])
    places = [n.o_batch, *(n.o_spatial[i] for i in (*others, along)), n.o_feature]
    rank = len(places)

    def each(values: Sequence[int], last: int) -> Attribute:
        return i64_array([*(int(values[i]) for i in others), last])

    result = build.emit(
        "convolution",
        [image, kernel],
        TensorType(element(op.result), [out[d] for d in places]),
        {
            **op.properties,
            "window_strides": each(n.strides, 1),
            "rhs_dilation": each(n.rhs_dilation, 1),
            "window_reversal": each(n.reversal, 0),
            "padding": i64_array([0] * 2 * (rank - 2)),
            "lhs_dilation": i64_array([1] * (rank - 2)),
            "input_batch_dim": i64_attr(0),
            "input_feature_dim": i64_attr(rank - 1),
            "input_spatial_dims": i64_array(range(1, rank - 1)),
            "kernel_spatial_dims": i64_array(range(rank - 2)),
            "kernel_input_feature_dim": i64_attr(rank - 2),
            "kernel_output_feature_dim": i64_attr(rank - 1),
            "output_batch_dim": i64_attr(0),
            "output_feature_dim": i64_attr(rank - 1),
            "output_spatial_dims": i64_array(range(1, rank - 1)),
        },
    )
    pass_flops(op, build.created[-1])
    return build.transpose(result, [places.index(d) for d in range(rank)])


def _gathered(
    build: Emitter, image: SSAValue, op: ConvolutionOp, n: Numbers, along: int
) -> SSAValue:
    """Concatenate the elements that each tap reads along the feature dimension."""
    d, shape = n.spatial[along], shape_of(image)
    count = shape_of(op.result)[n.o_spatial[along]]
    taps = shape_of(op.rhs)[n.k_spatial[along]]
    parts = []
    for t in reversed(range(taps)) if n.reversal[along] else range(taps):
        starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
        starts[d], steps[d] = t * n.rhs_dilation[along], n.strides[along]
        limits[d] = starts[d] + (count - 1) * steps[d] + 1
        parts.append(build.slice(image, starts, limits, steps))
    return build.concatenate(parts, n.feature)
