"""Build convolutions and transposed convolutions in any layout."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import need_one_type
from neuronir.passes.hlo.support.values import shape

Pairs = Sequence[tuple[int, int]]
"""Low and high padding of each spatial dimension."""


@dataclass(frozen=True)
class Layout:
    """The dimensions of a tensor of a convolution.

    `first` and `second` are the batch and feature dimensions of an input or output, and the input
    and output feature dimensions of a kernel.
    """

    first: int
    second: int
    spatial: tuple[int, ...]


def layout(text: str) -> Layout:
    """Return the layout spelled by letters: `NCHW`, `NHWC`, `OIHW`, `HWIO`, `NCDHW`, `NC0123`, ...

    N is the batch, C the features; I and O the input and output features of a kernel. All other
    letters are spatial dimensions, in their order.
    """
    first, second = ("I", "O") if "O" in text else ("N", "C")
    spatial = tuple(i for i, letter in enumerate(text) if letter not in (first, second))
    return Layout(text.index(first), text.index(second), spatial)


def features_first(spatial: int) -> tuple[Layout, Layout]:
    """Return the layouts NC... of tensors and OI... of kernels."""
    dims = tuple(range(2, 2 + spatial))
    return Layout(0, 1, dims), Layout(1, 0, dims)


def features_last(spatial: int) -> tuple[Layout, Layout]:
    """Return the layouts N...C of tensors and ...IO of kernels."""
    return (
        Layout(0, spatial + 1, tuple(range(1, 1 + spatial))),
        Layout(spatial, spatial + 1, tuple(range(spatial))),
    )


def convolution(
    b: BlockBuilder,
    value: SSAValue,
    kernel: SSAValue,
    layouts: tuple[Layout, Layout],
    *,
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    input_dilations: Sequence[int] | None = None,
    groups: int = 1,
    flip: bool = False,
) -> SSAValue:
    """Build hlo.convolution; the result has the layout of the input.

    `layouts` are those of tensors and of the kernel. `dilations` dilate the kernel,
    `input_dilations` the input. `flip` reverses the spatial dimensions of the kernel.
    """
    need_one_type(value, kernel)
    data, weights = layouts
    count = len(data.spatial)
    if groups < 1 or shape(value)[data.second] != shape(kernel)[weights.first] * groups:
        refuse(
            f"the input has {shape(value)[data.second]} features, the kernel takes "
            f"{shape(kernel)[weights.first]} in each of {groups} groups"
        )
    return b.op(
        "convolution",
        [value, kernel],
        window_strides=strides,
        padding=[n for pair in padding for n in pair],
        lhs_dilation=input_dilations or [1] * count,
        rhs_dilation=dilations,
        window_reversal=[int(flip)] * count,
        input_batch_dim=data.first,
        input_feature_dim=data.second,
        input_spatial_dims=data.spatial,
        kernel_input_feature_dim=weights.first,
        kernel_output_feature_dim=weights.second,
        kernel_spatial_dims=weights.spatial,
        output_batch_dim=data.first,
        output_feature_dim=data.second,
        output_spatial_dims=data.spatial,
        feature_group_count=groups,
    )


def transposed_convolution(
    b: BlockBuilder,
    value: SSAValue,
    kernel: SSAValue,
    layouts: tuple[Layout, Layout],
    *,
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    output_padding: Sequence[int],
    groups: int = 1,
) -> SSAValue:
    """Build the gradient of a convolution with respect to its input.

    The result has size (n - 1) * stride + output padding + (k - 1) * dilation + 1 - low - high. The
    kernel is that of the convolution: its output features (`second` of its layout) are the features
    of `value`, its input features those of the result. `padding` is that of the convolution and may
    be negative.
    """
    data, weights = layouts
    kernel = _swap_groups(b, kernel, weights, groups)
    swapped = Layout(weights.second, weights.first, weights.spatial)
    pairs = []
    for i, d in enumerate(weights.spatial):
        reach = (shape(kernel)[d] - 1) * dilations[i]
        low, high = padding[i]
        pairs.append((reach - low, reach - high + output_padding[i]))
    return convolution(
        b,
        value,
        kernel,
        (data, swapped),
        strides=[1] * len(pairs),
        padding=pairs,
        dilations=dilations,
        input_dilations=strides,
        groups=groups,
        flip=True,
    )


def kernel_gradient(
    b: BlockBuilder,
    value: SSAValue,
    gradient: SSAValue,
    layouts: tuple[Layout, Layout],
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int],
    groups: int = 1,
) -> SSAValue:
    """Build the gradient of a convolution with respect to its kernel, of spatial size `kernel`.

    `value` is the input of the convolution, `gradient` that of its result. The features of the
    input are the batch of this convolution, its batch the features that are contracted, and the
    gradient is the kernel, dilated by the strides.
    """
    need_one_type(value, gradient)
    data, weights = layouts
    pads: list[int] = []
    for i, d in enumerate(data.spatial):
        reach = (kernel[i] - 1) * dilations[i] + (shape(gradient)[d] - 1) * strides[i] + 1
        pads += [padding[i][0], reach - shape(value)[d] - padding[i][0]]
    return b.op(
        "convolution",
        [value, gradient],
        window_strides=dilations,
        padding=pads,
        lhs_dilation=[1] * len(kernel),
        rhs_dilation=strides,
        window_reversal=[0] * len(kernel),
        input_batch_dim=data.second,
        input_feature_dim=data.first,
        input_spatial_dims=data.spatial,
        kernel_input_feature_dim=data.first,
        kernel_output_feature_dim=data.second,
        kernel_spatial_dims=data.spatial,
        output_batch_dim=weights.first,
        output_feature_dim=weights.second,
        output_spatial_dims=weights.spatial,
        batch_group_count=groups,
    )


def _swap_groups(b: BlockBuilder, kernel: SSAValue, weights: Layout, groups: int) -> SSAValue:
    """Move the groups of a kernel from its output features to its input features.

    The features of one group of the transposed convolution are then contiguous.
    """
    dims = list(shape(kernel))
    if groups == 1:
        return kernel
    outer, inner = weights.second, weights.first
    if groups < 1 or dims[outer] % groups:
        refuse(f"{dims[outer]} features do not divide into {groups} groups")
    split = [*dims[:outer], groups, dims[outer] // groups, *dims[outer + 1 :]]
    kernel = b.reshape(kernel, split)
    inner_place = inner + 1 if inner > outer else inner
    order = [d for d in range(len(split)) if d != outer]
    order.insert(order.index(inner_place), outer)
    kernel = b.transpose(kernel, order)
    dims[outer] //= groups
    dims[inner] *= groups
    return b.reshape(kernel, dims)
