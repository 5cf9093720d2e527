"""Import gradients of windows, from the backward graphs of torch.compile."""

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.frontends.graph import convolution as conv
from neuronir.frontends.graph import pooling
from neuronir.frontends.graph.indexing import scatter_elements
from neuronir.frontends.graph.reductions import reduce, wide
from neuronir.frontends.graph.resizing import weighted
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.operators.windows import window_ranges
from neuronir.frontends.torch.registry import Function, operator
from neuronir.passes.hlo.decompositions.windows import LARGEST_WINDOW
from neuronir.passes.hlo.support.build import binary_region


@operator("convolution_backward")
def _convolution_backward(n: Node) -> list[SSAValue | None]:
    """Build the gradients of the input, the kernel and the bias selected by `output_mask`."""
    b, grad, x, kernel = n.b, n["grad_output"], n["input"], n["weight"]
    spatial = rank(kernel) - 2
    strides, dilations = n.spread("stride", spatial), n.spread("dilation", spatial)
    padding = [(p, p) for p in n.spread("padding", spatial)]
    groups, transposed = n.value("groups"), n.value("transposed")
    layouts = conv.features_first(spatial)
    mask = n.value("output_mask")
    found: list[SSAValue | None] = [None, None, None]
    if mask[0] and n.wants(0):
        found[0] = _input_gradient(n, strides, dilations, padding)
    if mask[1] and n.wants(1):
        pair = (grad, x) if transposed else (x, grad)
        found[1] = conv.kernel_gradient(
            b,
            *pair,
            layouts,
            kernel=shape(kernel)[2:],
            strides=strides,
            padding=padding,
            dilations=dilations,
            groups=groups,
        )
    if mask[2] and n.wants(2):
        axes = [d for d in range(rank(grad)) if d != 1]
        found[2] = n.cast(reduce(b, wide(b, grad), "add", axes), 2)
    return found


def _input_gradient(
    n: Node, strides: list[int], dilations: list[int], padding: list[tuple[int, int]]
) -> SSAValue:
    """Build the gradient of the input of a convolution, or of a transposed one."""
    b, grad, kernel = n.b, n["grad_output"], n["weight"]
    layouts = conv.features_first(len(strides))
    groups = n.value("groups")
    if n.value("transposed"):
        return conv.convolution(
            b,
            grad,
            kernel,
            layouts,
            strides=strides,
            padding=padding,
            dilations=dilations,
            groups=groups,
        )
    more = []
    for i, (size, made) in enumerate(zip(shape(n["input"])[2:], shape(grad)[2:], strict=True)):
        reach = (shape(kernel)[2 + i] - 1) * dilations[i]
        more.append(size - ((made - 1) * strides[i] + reach + 1 - sum(padding[i])))
    return conv.transposed_convolution(
        b,
        grad,
        kernel,
        layouts,
        strides=strides,
        padding=padding,
        dilations=dilations,
        output_padding=more,
        groups=groups,
    )


def _max_pool_backward(spatial: int) -> Function:
    """Scatter by comparing the elements of each window, and by the indices of the maxima only if
    the compiler does not support such windows, because a scatter may take 100 times as long.
    """

    def build(n: Node) -> SSAValue:
        b, x, grad = n.b, n["self"], n["grad_output"]
        dims = shape(x)
        lead = dims[: len(dims) - spatial]
        kernel = n.spread("kernel_size", spatial)
        strides = n.spread("stride", spatial) or kernel
        pads = n.spread("padding", spatial) or [0] * spatial
        dilations = n.spread("dilation", spatial) or [1] * spatial
        if sum(kernel) > LARGEST_WINDOW or any(d != 1 for d in dilations):
            flat = (prod(lead), prod(dims[len(lead) :]))
            places = b.reshape(n["indices"], (flat[0], _size(n["indices"], flat)))
            updates = b.reshape(grad, shape(places))
            zeros = b.fill_like(0, b.reshape(x, flat))
            return b.reshape(scatter_elements(b, zeros, places, updates, 1, "add"), dims)
        padding = [0, 0] * len(lead)
        for size, made, k, s, p in zip(
            dims[len(lead) :], shape(grad)[len(lead) :], kernel, strides, pads, strict=True
        ):
            padding += [p, max((made - 1) * s + k - size - p, 0)]
        scalar = tensor_type((), element(x))
        chosen = b.region([scalar, scalar])
        larger = chosen.compare(chosen.block.args[0], chosen.block.args[1], "GE")
        return b.op(
            "select_and_scatter",
            [x, grad, b.scalar(0, element(x))],
            [chosen.finish(larger), binary_region("add", element(x))],
            window_dimensions=[1] * len(lead) + kernel,
            window_strides=[1] * len(lead) + strides,
            padding=padding,
        )

    return build


def _size(value: SSAValue, flat: tuple[int, int]) -> int:
    """Return the elements of a value per leading element."""
    return prod(shape(value)) // flat[0] if flat[0] else 0


operator("max_pool2d_with_indices_backward")(_max_pool_backward(2))
operator("max_pool3d_with_indices_backward")(_max_pool_backward(3))


def _average_pool_backward(spatial: int) -> Function:
    def build(n: Node) -> SSAValue:
        b, grad = n.b, wide(n.b, n["grad_output"])
        dims, made = shape(n["self"]), shape(grad)
        first = len(dims) - spatial
        kernel = n.spread("kernel_size", spatial)
        strides = n.spread("stride", spatial) or kernel
        pads = n.spread("padding", spatial) or [0] * spatial
        divisor = n.value("divisor_override")
        counts = np.ones(made[first:])
        if divisor:
            counts *= divisor
        low, high, gaps = [0] * first, [0] * first, [0] * first
        for i in range(spatial):
            size, k, s, p = dims[first + i], kernel[i], strides[i], pads[i]
            begin = np.arange(made[first + i]) * s - p
            end = np.minimum(begin + k, size + p)
            if not n.value("count_include_pad", True):
                begin, end = np.maximum(begin, 0), np.minimum(end, size)
            if not divisor:
                counts *= (end - begin).reshape([-1 if j == i else 1 for j in range(spatial)])
            low.append(k - 1 - p)
            high.append(size + p - 1 - (made[first + i] - 1) * s)
            gaps.append(s - 1)
        shares = b.constant((1 / counts).astype(np_dtype(element(grad))))
        shares = b.broadcast(shares, made, tuple(range(first, first + spatial)))
        spread = b.pad(
            b.binary("multiply", grad, shares), b.scalar(0, element(grad)), low, high, gaps
        )
        summed = pooling.pool(
            b,
            spread,
            "add",
            conv.Layout(0, 1, tuple(range(first, first + spatial))),
            window=kernel,
            strides=[1] * spatial,
            padding=[(0, 0)] * spatial,
        )
        return n.cast(summed)

    return build


for _count in (2, 3):
    operator(f"avg_pool{_count}d_backward")(_average_pool_backward(_count))


def _adaptive_average_backward(spatial: int) -> Function:
    def build(n: Node) -> SSAValue:
        b, value = n.b, wide(n.b, n["grad_output"])
        first = rank(value) - spatial
        for i in range(spatial):
            new, old = shape(n["grad_output"])[first + i], shape(n["self"])[first + i]
            matrix = np.zeros((old, new))
            for column, (start, end) in enumerate(window_ranges(old, new)):
                matrix[start:end, column] = 1 / (end - start)
            value = weighted(b, value, first + i, matrix)
        return n.cast(value)

    return build


for _count in (2, 3):
    operator(f"_adaptive_avg_pool{_count}d_backward")(_adaptive_average_backward(_count))
