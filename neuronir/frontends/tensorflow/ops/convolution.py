"""Import convolutions in any layout and padding, and their gradients."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from neuronir.frontends.graph import convolution as C
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.padding import same_padding
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape

FORMATS = ("NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW")


@dataclass(frozen=True)
class Window:
    """How a window moves over the spatial dimensions of a tensor."""

    layout: C.Layout
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    def padding(self, o: Op, dims: Sequence[int], window: Sequence[int]) -> list[tuple[int, int]]:
        """Return the padding (low, high) of each spatial dimension of a tensor of this shape."""
        kind = o.text("padding")
        spatial = self.layout.spatial
        if kind == "VALID":
            return [(0, 0)] * len(spatial)
        if kind == "SAME":
            sizes = [dims[d] for d in spatial]
            return [
                same_padding(*each)
                for each in zip(sizes, window, self.strides, self.dilations, strict=True)
            ]
        if kind != "EXPLICIT":
            refuse(f"the padding '{kind}' is not known", "SAME, VALID or EXPLICIT")
        amounts = o.int_list("explicit_paddings", ())
        if len(amounts) != 2 * len(dims) or any(n < 0 for n in amounts):
            refuse(f"explicit_paddings must be {2 * len(dims)} non-negative integers")
        return [(amounts[2 * d], amounts[2 * d + 1]) for d in spatial]


def window_of(o: Op, rank: int) -> Window:
    """Return layout, strides and dilations of a node whose tensors have this rank."""
    text = o.text("data_format", "NHWC" if rank == 4 else "NDHWC" if rank == 5 else "NWC")
    if text not in FORMATS or len(text) != rank:
        refuse(f"the data format '{text}' does not fit a tensor of rank {rank}")
    layout = C.layout(text)
    return Window(
        layout,
        spatial_of(o.int_list("strides"), layout, "strides"),
        spatial_of(o.int_list("dilations", (1,) * rank) or (1,) * rank, layout, "dilations"),
    )


def spatial_of(values: Sequence[int], layout: C.Layout, what: str) -> tuple[int, ...]:
    """Return the entries for the spatial dimensions; the others must be one."""
    rank = len(layout.spatial) + 2
    if len(values) != rank or any(n < 1 for n in values):
        refuse(f"{what} {list(values)} must be {rank} positive integers")
    if values[layout.first] != 1 or values[layout.second] != 1:
        refuse(f"{what} {list(values)} must be 1 for batch and features")
    return tuple(values[d] for d in layout.spatial)


@op("Conv2D", "Conv3D")
def convolution(o: Op) -> SSAValue:
    """Build a convolution; a kernel with fewer input features than the input has groups."""
    rank = 4 if o.type == "Conv2D" else 5
    window, kernel = _checked(o, rank, o.dims(0), o.dims(1))
    features, taken = o.dims()[window.layout.second], kernel[-2]
    if taken == 0 or features % taken:
        refuse(f"the input has {features} features, the kernel takes {taken}")
    return C.convolution(
        o.b,
        o[0],
        o[1],
        (window.layout, C.features_last(rank - 2)[1]),
        strides=window.strides,
        padding=window.padding(o, o.dims(), kernel[:-2]),
        dilations=window.dilations,
        groups=features // taken,
    )


def _checked(
    o: Op, rank: int, dims: Sequence[int], kernel: Sequence[int]
) -> tuple[Window, Sequence[int]]:
    if len(dims) != rank or len(kernel) != rank:
        refuse(f"it takes tensors of rank {rank}, has {list(dims)} and {list(kernel)}")
    return window_of(o, rank), kernel


@op("DepthwiseConv2dNative")
def depthwise(o: Op) -> SSAValue:
    """Build a depthwise convolution: as many groups as features."""
    window, kernel = _checked(o, 4, o.dims(0), o.dims(1))
    features = o.dims()[window.layout.second]
    if kernel[2] != features:
        refuse(f"the input has {features} features, the kernel takes {kernel[2]}")
    return C.convolution(
        o.b,
        o[0],
        _depthwise_kernel(o, o[1]),
        (window.layout, C.features_last(2)[1]),
        strides=window.strides,
        padding=window.padding(o, o.dims(), kernel[:-2]),
        dilations=window.dilations,
        groups=features,
    )


def _depthwise_kernel(o: Op, kernel: SSAValue) -> SSAValue:
    """Reshape H, W, features, multiplier to H, W, 1, features x multiplier."""
    height, width, features, multiplier = shape(kernel)
    return o.b.reshape(kernel, (height, width, 1, features * multiplier))


@op(
    "Conv2DBackpropInput",
    "Conv3DBackpropInputV2",
    "DepthwiseConv2dNativeBackpropInput",
)
def transposed(o: Op) -> SSAValue:
    """Build the gradient of a convolution with respect to its input: a transposed convolution."""
    depthwise = o.type.startswith("Depthwise")
    rank = 5 if o.type.startswith("Conv3D") else 4
    dims = list(o.ints(0, "the shape of the input"))
    window, kernel = _checked(o, rank, o.dims(2), o.dims(1))
    if len(dims) == rank - 1:  # without the batch
        dims.insert(0, o.dims(2)[0])
    if len(dims) != rank:
        refuse(f"the shape {dims} must have {rank} dimensions")
    layout = window.layout
    features = dims[layout.second]
    groups = features if depthwise else features // kernel[-2] if kernel[-2] else 0
    value = _depthwise_kernel(o, o[1]) if depthwise else o[1]
    padding = window.padding(o, dims, kernel[:-2])
    extra = []
    for i, d in enumerate(layout.spatial):
        reach = (kernel[i] - 1) * window.dilations[i] + 1
        made = (o.dims(2)[d] - 1) * window.strides[i] + reach - sum(padding[i])
        extra.append(dims[d] - made)
        if not 0 <= extra[-1] < max(window.strides[i], 1):
            refuse(f"gradients of shape {list(o.dims(2))} do not fit an input of shape {dims}")
    result = C.transposed_convolution(
        o.b,
        o[2],
        value,
        (layout, C.features_last(rank - 2)[1]),
        strides=window.strides,
        padding=padding,
        dilations=window.dilations,
        output_padding=extra,
        groups=groups,
    )
    if list(shape(result)) != dims:
        refuse(f"it would have shape {list(shape(result))}, must have {dims}")
    return result
