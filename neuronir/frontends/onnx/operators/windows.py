"""Import convolution and pooling."""

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph import convolution as conv
from neuronir.frontends.graph import pooling as pool
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.indexing import scatter_elements
from neuronir.frontends.graph.padding import ceil_padding, same_padding
from neuronir.frontends.graph.reductions import mean, reduce, total
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Window:
    """The attributes of a window, with one entry per spatial dimension."""

    size: list[int]
    strides: list[int]
    dilations: list[int]
    padding: Pairs


def _spatial(n: Node) -> tuple[int, ...]:
    dims = shape(n[0])
    if len(dims) < 3:
        refuse(f"it needs spatial dimensions, has shape {list(dims)}")
    return dims[2:]


def window_of(n: Node, kernel: "tuple[int, ...] | None" = None) -> Window:
    """Return the window of a node; `kernel` is its size if a weight determines it."""
    spatial = _spatial(n)
    count = len(spatial)
    given = n.ints("kernel_shape")
    size = given if given is not None else list(kernel or ())
    if len(size) != count or (kernel is not None and tuple(size) != kernel):
        refuse(f"kernel_shape {size} does not fit the kernel {list(kernel or spatial)}")
    strides = n.ints("strides") or [1] * count
    dilations = n.ints("dilations") or [1] * count
    if len(strides) != count or len(dilations) != count or min(*strides, *dilations, *size) < 1:
        refuse("strides, dilations and kernel_shape must be positive, one a spatial dimension")
    return Window(size, strides, dilations, _padding(n, spatial, size, strides, dilations))


def _padding(
    n: Node, spatial: tuple[int, ...], size: list[int], strides: list[int], dilations: list[int]
) -> Pairs:
    auto = n.text("auto_pad", "NOTSET")
    count = len(spatial)
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        lower = auto == "SAME_LOWER"
        return [
            same_padding(spatial[i], size[i], strides[i], dilations[i], lower=lower)
            for i in range(count)
        ]
    if auto == "VALID":
        return [(0, 0)] * count
    pads = n.ints("pads") or [0] * (2 * count)
    if auto != "NOTSET" or len(pads) != 2 * count:
        refuse(f"pads {pads} or auto_pad '{auto}' do not fit {count} spatial dimensions")
    return [(pads[i], pads[i + count]) for i in range(count)]


@operator("Conv")
def _conv(n: Node) -> SSAValue:
    window = window_of(n, shape(n[1])[2:])
    result = conv.convolution(
        n.b,
        n[0],
        n[1],
        conv.features_first(len(window.size)),
        strides=window.strides,
        padding=window.padding,
        dilations=window.dilations,
        groups=n.integer("group", 1),
    )
    return _biased(n, result)


def _biased(n: Node, result: SSAValue) -> SSAValue:
    offset = n.get(2)
    if offset is None:
        return result
    return n.b.binary("add", result, along(n.b, offset, shape(result), 1))


@operator("ConvTranspose")
def _conv_transpose(n: Node) -> SSAValue:
    spatial = _spatial(n)
    count = len(spatial)
    size = list(shape(n[1])[2:])
    strides = n.ints("strides") or [1] * count
    dilations = n.ints("dilations") or [1] * count
    extra = n.ints("output_padding") or [0] * count
    wanted = n.ints("output_shape")
    if wanted is not None and len(wanted) == count + 2:
        wanted = wanted[2:]
    full = [
        (spatial[i] - 1) * strides[i] + extra[i] + (size[i] - 1) * dilations[i] + 1
        for i in range(count)
    ]
    auto = n.text("auto_pad", "NOTSET")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [spatial[i] * strides[i] for i in range(count)]
    if wanted is not None:
        # By definition of the operator, the odd element goes where auto_pad says.
        padding: Pairs = []
        for i in range(count):
            both = full[i] - wanted[i]
            small, large = both // 2, both - both // 2
            padding.append((small, large) if auto == "SAME_UPPER" else (large, small))
    else:
        pads = n.ints("pads") if auto == "NOTSET" else None
        pads = pads or [0] * (2 * count)
        padding = [(pads[i], pads[i + count]) for i in range(count)]
    # ONNX's kernel is (input, output / groups, ...), as for the convolution whose gradient this is.
    result = conv.transposed_convolution(
        n.b,
        n[0],
        n[1],
        conv.features_first(count),
        strides=strides,
        padding=padding,
        dilations=dilations,
        output_padding=extra,
        groups=n.integer("group", 1),
    )
    return _biased(n, result)


def _ceiled(n: Node, window: Window) -> Pairs:
    """Return the padding, including the part beyond the edge of a last window in ceil mode."""
    if not n.flag("ceil_mode"):
        return window.padding
    spatial = _spatial(n)
    return [
        (
            low,
            ceil_padding(
                spatial[i], window.size[i], window.strides[i], window.dilations[i], low, high
            ),
        )
        for i, (low, high) in enumerate(window.padding)
    ]


def _layout(n: Node) -> conv.Layout:
    return conv.features_first(len(shape(n[0])) - 2)[0]


@operator("MaxPool")
def _max_pool(n: Node) -> list[SSAValue]:
    window = window_of(n)
    padding = _ceiled(n, window)
    data = _layout(n)
    result = pool.max_pool(
        n.b,
        n[0],
        data,
        window=window.size,
        strides=window.strides,
        padding=padding,
        dilations=window.dilations,
    )
    if not n.wants(1):
        return [result]
    indices = pool.max_pool_indices(
        n.b,
        n[0],
        data,
        _flat_places(n),
        window=window.size,
        strides=window.strides,
        padding=padding,
        dilations=window.dilations,
    )
    return [result, n.b.convert(indices, i64)]


def _flat_places(n: Node) -> SSAValue:
    """Return the position of each element in the flattened tensor, row- or column-major in
    space.
    """
    dims = shape(n[0])
    order = range(2, len(dims))
    if n.flag("storage_order"):
        order = reversed(order)  # type: ignore[assignment]
    weight, step = [0] * len(dims), 1
    for d in reversed(list(order)):
        weight[d], step = step, step * dims[d]
    weight[1], weight[0] = step, step * dims[1]
    places: SSAValue | None = None
    for d, w in enumerate(weight):
        along_dim = n.b.binary_number("multiply", n.b.iota(dims, d, i32), w)
        places = along_dim if places is None else n.b.binary("add", places, along_dim)
    assert places is not None
    return places


@operator("AveragePool")
def _average_pool(n: Node) -> SSAValue:
    window = window_of(n)
    return pool.average_pool(
        n.b,
        n[0],
        _layout(n),
        window=window.size,
        strides=window.strides,
        padding=_ceiled(n, window),
        counted=window.padding if n.flag("count_include_pad") else None,
        dilations=window.dilations,
    )


@operator("LpPool")
def _lp_pool(n: Node) -> SSAValue:
    window = window_of(n)
    return pool.lp_pool(
        n.b,
        n[0],
        _layout(n),
        n.integer("p", 2),
        window=window.size,
        strides=window.strides,
        padding=_ceiled(n, window),
        dilations=window.dilations,
    )


def _everywhere(n: Node) -> list[int]:
    return list(range(2, 2 + len(_spatial(n))))


@operator("GlobalAveragePool")
def _global_average_pool(n: Node) -> SSAValue:
    return mean(n.b, n[0], _everywhere(n), keep=True)


@operator("GlobalMaxPool")
def _global_max_pool(n: Node) -> SSAValue:
    return reduce(n.b, n[0], "maximum", _everywhere(n), keep=True)


@operator("GlobalLpPool")
def _global_lp_pool(n: Node) -> SSAValue:
    p, b = n.integer("p", 2), n.b
    powers = b.binary_number("power", b.unary("abs", n[0]), p)
    return b.binary_number("power", total(b, powers, _everywhere(n), keep=True), 1 / p)


@operator("MaxUnpool")
def _max_unpool(n: Node) -> SSAValue:
    """Fill with zeros and write the elements at the positions that a MaxPool found."""
    window = window_of(n)
    spatial = _spatial(n)
    made = [
        (spatial[i] - 1) * window.strides[i] + window.size[i] - sum(window.padding[i])
        for i in range(len(spatial))
    ]
    inner = (*shape(n[0])[:2], *made)
    dims = inner if n.get(2) is None else n.known_ints(2, "output_shape")
    flat = (int(np.prod(shape(n[0]))),)
    zeros = n.b.fill(0, tensor_type((int(np.prod(dims)),), element(n[0])))
    places = n.b.reshape(_moved(n, n[1], inner, dims), flat)
    filled = scatter_elements(n.b, zeros, places, n.b.reshape(n[0], flat), 0)
    return n.b.reshape(filled, dims)


def _moved(n: Node, places: SSAValue, inner: tuple[int, ...], dims: tuple[int, ...]) -> SSAValue:
    """Convert positions in a flattened tensor of shape `inner` to positions in `dims`."""
    if inner == tuple(dims):
        return places
    b = n.b
    rest, step = places, 1
    result = b.fill(0, places.type)
    for old, new in zip(reversed(inner), reversed(dims), strict=True):
        index = b.binary_number("remainder", rest, old)
        result = b.binary("add", result, b.binary_number("multiply", index, step))
        rest = b.binary_number("divide", rest, old)
        step *= new
    return result


@operator("Col2Im")
def _col2im(n: Node) -> SSAValue:
    """Sum the columns of windows into the elements from which they were taken."""
    b = n.b
    image, block = n.known_ints(1, "image_shape"), n.known_ints(2, "block_shape")
    count = len(image)
    if not 0 < prod(block) <= pool.MOST_TAPS:
        refuse(f"a window of {list(block)} elements is not supported")
    strides = n.ints("strides") or [1] * count
    dilations = n.ints("dilations") or [1] * count
    pads = n.ints("pads") or [0] * (2 * count)
    full = [image[i] + pads[i] + pads[i + count] for i in range(count)]
    places = [(full[i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(count)]
    batch, columns, _ = shape(n[0])
    features = columns // int(np.prod(block))
    split = b.reshape(n[0], (batch, features, *block, *places))
    zero = b.scalar(0, element(n[0]))
    summed: SSAValue | None = None
    for offset in np.ndindex(*block):
        low = [0, 0, *offset, *[0] * count]
        high = [batch, features, *(o + 1 for o in offset), *places]
        part = b.reshape(b.slice(split, low, high), (batch, features, *places))
        before = [offset[i] * dilations[i] for i in range(count)]
        reach = [(places[i] - 1) * strides[i] + 1 for i in range(count)]
        after = [full[i] - reach[i] - before[i] for i in range(count)]
        gaps = [0, 0, *(s - 1 for s in strides)]
        spread = b.pad(part, zero, [0, 0, *before], [0, 0, *after], gaps)
        summed = spread if summed is None else b.binary("add", summed, spread)
    assert summed is not None
    low = [0, 0, *pads[:count]]
    return b.slice(summed, low, [batch, features, *(pads[i] + image[i] for i in range(count))])
