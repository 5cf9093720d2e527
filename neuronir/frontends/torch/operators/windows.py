"""Import convolutions and pooling."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import convolution as conv
from neuronir.frontends.graph import pooling
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.padding import ceil_padding, pad
from neuronir.frontends.graph.reductions import reduce, wide
from neuronir.frontends.graph.resizing import weighted
from neuronir.frontends.torch.node import Node, rank, shape
from neuronir.frontends.torch.registry import Function, operator


@operator("convolution")
def _convolution(n: Node) -> SSAValue:
    b, x, kernel = n.b, n["input"], n["weight"]
    spatial = rank(kernel) - 2
    strides, dilations = n.spread("stride", spatial), n.spread("dilation", spatial)
    padding = [(p, p) for p in n.spread("padding", spatial)]
    layouts = conv.features_first(spatial)
    if n.value("transposed"):
        result = conv.transposed_convolution(
            b,
            x,
            kernel,
            layouts,
            strides=strides,
            padding=padding,
            dilations=dilations,
            output_padding=n.spread("output_padding", spatial),
            groups=n.value("groups"),
        )
    else:
        result = conv.convolution(
            b,
            x,
            kernel,
            layouts,
            strides=strides,
            padding=padding,
            dilations=dilations,
            groups=n.value("groups"),
        )
    bias = n.get("bias")
    return result if bias is None else b.binary("add", result, along(b, bias, shape(result), 1))


def _batched(n: Node, spatial: int) -> tuple[SSAValue, bool]:
    """Return the operand with a batch dimension, and whether it had none."""
    x = n["self"]
    if rank(x) == spatial + 1:
        return n.b.reshape(x, (1, *shape(x))), True
    return x, False


class _Window:
    """The arguments of pooling."""

    def __init__(self, n: Node, spatial: int) -> None:
        self.value, self.single = _batched(n, spatial)
        sizes = shape(self.value)[2:]
        self.kernel = n.spread("kernel_size", spatial)
        self.strides = n.spread("stride", spatial) or self.kernel
        self.pads = n.spread("padding", spatial) or [0] * spatial
        self.dilations = n.spread("dilation", spatial) or [1] * spatial
        self.padding = []
        for i, size in enumerate(sizes):
            low = high = self.pads[i]
            if n.value("ceil_mode", False):
                k, s, d = self.kernel[i], self.strides[i], self.dilations[i]
                high = ceil_padding(size, k, s, d, low, high)
            self.padding.append((low, high))
        self.layout = conv.features_first(spatial)[0]


def _max_pool(spatial: int) -> Function:
    def build(n: Node) -> list[SSAValue | None]:
        b, w = n.b, _Window(n, spatial)
        best = pooling.max_pool(
            b,
            w.value,
            w.layout,
            window=w.kernel,
            strides=w.strides,
            padding=w.padding,
            dilations=w.dilations,
        )
        found: list[SSAValue | None] = [b.reshape(best, n.dims(0)), None]
        if n.wants(1):
            sizes = shape(w.value)[2:]
            flat = b.iota((prod(sizes),), 0, i32)
            dims = tuple(range(2, 2 + spatial))
            places = b.broadcast(b.reshape(flat, sizes), shape(w.value), dims)
            where = pooling.max_pool_indices(
                b,
                w.value,
                w.layout,
                places,
                window=w.kernel,
                strides=w.strides,
                padding=w.padding,
                dilations=w.dilations,
            )
            found[1] = b.convert(b.reshape(where, n.dims(1)), n.type(1))
        return found

    return build


operator("max_pool2d_with_indices")(_max_pool(2))
operator("max_pool3d_with_indices")(_max_pool(3))


def _average_pool(spatial: int) -> Function:
    def build(n: Node) -> SSAValue:
        b, w = n.b, _Window(n, spatial)
        divisor = n.value("divisor_override")
        if divisor:
            summed = pooling.pool(
                b,
                wide(b, w.value),
                "add",
                w.layout,
                window=w.kernel,
                strides=w.strides,
                padding=w.padding,
            )
            return b.reshape(n.cast(b.binary_number("divide", summed, divisor)), n.dims())
        counted = [(p, p) for p in w.pads] if n.value("count_include_pad", True) else None
        result = pooling.average_pool(
            b,
            w.value,
            w.layout,
            window=w.kernel,
            strides=w.strides,
            padding=w.padding,
            counted=counted,
        )
        return b.reshape(result, n.dims())

    return build


for _count in (1, 2, 3):
    operator(f"avg_pool{_count}d", kept=_count == 1)(_average_pool(_count))


# --- windows whose sizes follow from the result's


def window_ranges(old: int, new: int) -> list[tuple[int, int]]:
    """Return (first, end) of each window."""
    return [(i * old // new, -(-(i + 1) * old // new)) for i in range(new)]


def _adaptive_average(spatial: int) -> Function:
    def build(n: Node) -> SSAValue:
        b, (value, _) = n.b, _batched(n, spatial)
        sizes, made = shape(value)[2:], n.dims()[-spatial:]
        if all(old % new == 0 for old, new in zip(sizes, made, strict=True)):
            window = [old // new for old, new in zip(sizes, made, strict=True)]
            result = pooling.average_pool(
                b,
                value,
                conv.features_first(spatial)[0],
                window=window,
                strides=window,
                padding=[(0, 0)] * spatial,
            )
            return b.reshape(result, n.dims())
        value = wide(b, value)
        for i, (old, new) in enumerate(zip(sizes, made, strict=True)):
            matrix = np.zeros((new, old))
            for row, (first, end) in enumerate(window_ranges(old, new)):
                matrix[row, first:end] = 1 / (end - first)
            value = weighted(b, value, 2 + i, matrix)
        return b.reshape(n.cast(value), n.dims())

    return build


for _count in (1, 2, 3):
    operator(f"adaptive_avg_pool{_count}d", f"_adaptive_avg_pool{_count}d", kept=True)(
        _adaptive_average(_count)
    )


def _adaptive_max(spatial: int) -> Function:
    def build(n: Node) -> list[SSAValue | None]:
        if n.wants(1):
            refuse("the indices of adaptive pooling are not supported")
        b, (value, _) = n.b, _batched(n, spatial)
        for i, new in enumerate(n.dims(0)[-spatial:]):
            value = _adaptive_axis(n, value, 2 + i, new)
        return [b.reshape(value, n.dims(0)), None]

    return build


def _adaptive_axis(n: Node, value: SSAValue, axis: int, new: int) -> SSAValue:
    """Return the maximum of each window of one dimension."""
    b, dims = n.b, shape(value)
    parts = []
    for first, end in window_ranges(dims[axis], new):
        starts, limits = [0] * len(dims), list(dims)
        starts[axis], limits[axis] = first, end
        parts.append(reduce(b, b.slice(value, starts, limits), "maximum", [axis], keep=True))
    return b.concatenate(parts, axis)


operator("adaptive_max_pool2d")(_adaptive_max(2))
operator("adaptive_max_pool3d")(_adaptive_max(3))


@operator("im2col", kept=True)
def _im2col(n: Node) -> SSAValue:
    """Return the windows of an image as columns."""
    b, (value, _) = n.b, _batched(n, 2)
    kernel, dilations = n.spread("kernel_size", 2), n.spread("dilation", 2)
    strides, pads = n.spread("stride", 2), n.spread("padding", 2)
    value = _padded(n, value, pads)
    batch, channels, *sizes = shape(value)
    counts = [
        (size - (k - 1) * d - 1) // s + 1
        for size, k, d, s in zip(sizes, kernel, dilations, strides, strict=True)
    ]
    parts = []
    for y, x in np.ndindex(*kernel):
        starts = [0, 0, y * dilations[0], x * dilations[1]]
        limits = [batch, channels]
        limits += [starts[2 + i] + (counts[i] - 1) * strides[i] + 1 for i in (0, 1)]
        part = b.slice(value, starts, limits, [1, 1, *strides])
        parts.append(b.reshape(part, (batch, channels, 1, prod(counts))))
    return b.reshape(b.concatenate(parts, 2), n.dims())


def _padded(n: Node, value: SSAValue, pads: Sequence[int]) -> SSAValue:
    return pad(n.b, value, [0, 0, *pads], [0, 0, *pads])


@operator("col2im")
def _col2im(n: Node) -> SSAValue:
    """Sum the columns, each element to its position in the window."""
    b, x = n.b, n["self"]
    single = rank(x) == 2
    x = b.reshape(x, (1, *shape(x))) if single else x
    kernel, dilations = n.spread("kernel_size", 2), n.spread("dilation", 2)
    strides, pads = n.spread("stride", 2), n.spread("padding", 2)
    sizes = n.spread("output_size", 2)
    full = [size + 2 * p for size, p in zip(sizes, pads, strict=True)]
    counts = [
        (size - (k - 1) * d - 1) // s + 1
        for size, k, d, s in zip(full, kernel, dilations, strides, strict=True)
    ]
    batch, wide_channels, _ = shape(x)
    channels = wide_channels // prod(kernel)
    x = b.reshape(x, (batch, channels, *kernel, *counts))
    zero = b.scalar(0, n.type())
    result: SSAValue | None = None
    for y, z in np.ndindex(*kernel):
        part = b.slice(x, [0, 0, y, z, 0, 0], [batch, channels, y + 1, z + 1, counts[0], counts[1]])
        part = b.reshape(part, (batch, channels, *counts))
        low = [0, 0, y * dilations[0], z * dilations[1]]
        high = [0, 0]
        for i in (0, 1):
            high.append(full[i] - low[2 + i] - (counts[i] - 1) * strides[i] - 1)
        spread = b.pad(part, zero, low, high, [0, 0, *(s - 1 for s in strides)])
        result = spread if result is None else b.binary("add", result, spread)
    assert result is not None
    limits = [batch, channels, *(p + size for p, size in zip(pads, sizes, strict=True))]
    return b.reshape(b.slice(result, [0, 0, *pads], limits), n.dims())
