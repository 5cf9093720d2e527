"""Convolutions, the blocks around them, and norms of images."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.variants.draw import Draw, Program, array, letter

NHWC = ("NHWC", "HWIO", "NHWC")
NCHW = ("NCHW", "OIHW", "NCHW")


def convolved(
    x: Any, w: Any, stride: int = 1, dilation: int = 1, groups: int = 1, order: Any = NHWC
) -> Any:
    """Return a convolution with as many positions as its image, divided by the stride."""
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        "SAME",
        rhs_dilation=(dilation, dilation),
        dimension_numbers=order,
        feature_group_count=groups,
    )


def dims(order: Any, batch: int, side: int, channels: int) -> tuple[int, ...]:
    """Return the dimensions of an image."""
    return (batch, side, side, channels) if order is NHWC else (batch, channels, side, side)


def kernel(order: Any, side: int, inputs: int, outputs: int) -> tuple[int, ...]:
    """Return the dimensions of a kernel."""
    return (side, side, inputs, outputs) if order is NHWC else (outputs, inputs, side, side)


def along(order: Any, vector: Any) -> Any:
    """Return a vector of channels that is broadcast over an image."""
    return vector if order is NHWC else vector[:, None, None]


def convolution(draw: Draw) -> Program:
    """A convolution with a bias and a relu, strided or dilated."""
    batch, side = draw.pick(1, 1, 2, 4), draw.pick(14, 20, 28, 35, 56, 64, 112)
    inputs, outputs = draw.pick(3, 16, 32, 64, 96, 128, 256), draw.pick(32, 64, 96, 128, 256)
    size, stride = draw.pick(1, 3, 3, 5, 7), draw.pick(1, 1, 2)
    dilation = 1 if stride > 1 else draw.pick(1, 1, 1, 2, 4)
    if batch * side * side * inputs * outputs * size * size > 6_000_000_000:
        batch, side = 1, 28
    order, dtype = draw.pick(NHWC, NCHW), draw.float_type()

    def function(x: Any, w: Any, b: Any) -> Any:
        return jax.nn.relu(convolved(x, w, stride, dilation, 1, order) + along(order, b))

    specs = (dims(order, batch, side, inputs), kernel(order, size, inputs, outputs), (outputs,))
    name = f"{order[0].lower()}_{batch}x{side}x{inputs}_{outputs}_k{size}s{stride}d{dilation}"
    return Program(
        f"convolution_{name}{letter(dtype)}", function, tuple(array(*s, dtype=dtype) for s in specs)
    )


def inverted(draw: Draw) -> Program:
    """A block of MobileNet: a wide 1x1, a depthwise and a narrow 1x1 convolution."""
    batch, side = draw.pick(1, 1, 2, 4), draw.pick(14, 20, 28, 40, 56)
    channels, factor = draw.pick(16, 24, 32, 40, 64, 80, 96), draw.pick(3, 4, 6)
    size, stride, order = draw.pick(3, 5), draw.pick(1, 1, 2), draw.pick(NHWC, NHWC, NCHW)
    wide = channels * factor

    def function(x: Any, first: Any, depth: Any, last: Any, b: Any, c: Any) -> Any:
        h = jnp.clip(convolved(x, first, order=order) + along(order, b), 0, 6)
        h = jnp.clip(convolved(h, depth, stride, 1, wide, order) + along(order, c), 0, 6)
        y = convolved(h, last, order=order)
        return x + y if stride == 1 else y

    specs = (
        dims(order, batch, side, channels),
        kernel(order, 1, channels, wide),
        kernel(order, size, 1, wide),
        kernel(order, 1, wide, channels),
        (wide,),
        (wide,),
    )
    name = f"{order[0].lower()}_{batch}x{side}x{channels}_{factor}_k{size}s{stride}"
    return Program(f"inverted_{name}", function, tuple(array(*s) for s in specs))


def convnext(draw: Draw) -> Program:
    """A block of ConvNeXt: a depthwise convolution, a layer norm and a network."""
    batch, side = draw.pick(1, 1, 2), draw.pick(7, 14, 28, 36, 56)
    channels = draw.pick(96, 128, 192, 384)

    def function(x: Any, depth: Any, g: Any, b: Any, first: Any, last: Any) -> Any:
        h = convolved(x, depth, groups=channels)
        h = h - h.mean(-1, keepdims=True)
        h = h * lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5) * g + b
        return x + jax.nn.gelu(h @ first) @ last

    specs = (
        dims(NHWC, batch, side, channels),
        kernel(NHWC, 7, 1, channels),
        (channels,),
        (channels,),
        (channels, 4 * channels),
        (4 * channels, channels),
    )
    return Program(f"convnext_{batch}x{side}x{channels}", function, tuple(array(*s) for s in specs))


def group_norm(draw: Draw) -> Program:
    """A group norm, alone or before a silu and a 3x3 convolution."""
    batch, side = draw.pick(1, 2), draw.pick(16, 24, 28, 32, 48, 64)
    channels, groups = draw.pick(64, 128, 192, 256, 320), draw.pick(8, 16, 32)
    behind, order = draw.pick(False, True), draw.pick(NHWC, NHWC, NCHW)
    each = channels // groups

    def function(x: Any, g: Any, b: Any, w: Any) -> Any:
        split = (batch, side, side, groups, each)
        axes: tuple[int, ...] = (1, 2, 4)
        if order is NCHW:
            split, axes = (batch, groups, each, side, side), (2, 3, 4)
        h = x.reshape(split)
        h = h - h.mean(axes, keepdims=True)
        h = (h * lax.rsqrt((h * h).mean(axes, keepdims=True) + 1e-5)).reshape(x.shape)
        h = h * along(order, g) + along(order, b)
        return convolved(jax.nn.silu(h), w, order=order) if behind else h

    image = dims(order, batch, side, channels)
    specs = (image, (channels,), (channels,), kernel(order, 3, channels, channels))
    name = f"{order[0].lower()}_{batch}x{side}x{channels}_{groups}{'_conv' if behind else ''}"
    return Program(f"group_norm_{name}", function, tuple(array(*s) for s in specs))


def one_dimension(draw: Draw) -> Program:
    """A convolution along a sequence, and a gelu."""
    batch, length = draw.pick(1, 2, 4), draw.pick(500, 1000, 4000, 16000)
    inputs, outputs = draw.pick(1, 32, 64, 80, 128, 256), draw.pick(64, 128, 256)
    size, stride = draw.pick(2, 3, 5, 10, 31), draw.pick(1, 1, 2, 5)
    dilation = 1 if stride > 1 else draw.pick(1, 1, 2, 8)
    depthwise = inputs > 1 and draw.pick(False, False, True)
    groups = inputs if depthwise else 1
    if depthwise:
        outputs = inputs

    def function(x: Any, w: Any) -> Any:
        found = lax.conv_general_dilated(
            x,
            w,
            (stride,),
            "SAME",
            rhs_dilation=(dilation,),
            dimension_numbers=("NWC", "WIO", "NWC"),
            feature_group_count=groups,
        )
        return jax.nn.gelu(found)

    specs = (array(batch, length, inputs), array(size, inputs // groups, outputs))
    name = f"{batch}x{length}x{inputs}_{outputs}_k{size}s{stride}d{dilation}"
    return Program(f"sequence_{name}{'_depthwise' if depthwise else ''}", function, specs)
