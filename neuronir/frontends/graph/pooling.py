"""Build pooling: windows that slide over spatial dimensions."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.convolution import Layout, Pairs
from neuronir.frontends.graph.reductions import wide, window_properties
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import binary_region
from neuronir.passes.hlo.support.values import element, shape, tensor

MOST_PLACES = 1 << 26
"""Limit of window positions whose elements are counted one by one."""
MOST_TAPS = 1 << 12
"""Limit of elements of a window that are processed one after the other."""


def pool(
    b: BlockBuilder,
    value: SSAValue,
    opcode: str,
    layout: Layout,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
) -> SSAValue:
    """Reduce each window position over the spatial dimensions with an opcode (add, maximum).

    Padding is ignored. Dimensions with a dilated window are reduced by combining its taps one by
    one.
    """
    neutral = neutral_element(opcode, element(value))
    if neutral is None:
        refuse(f"pooling by {opcode} of {element(value)} is not supported")
    start = b.scalar(neutral, element(value))
    rank = len(shape(value))
    sizes, pads, steps = [1] * rank, [0] * (2 * rank), [1] * rank
    for i, d in enumerate(layout.spatial):
        gap = 1 if dilations is None else dilations[i]
        if gap != 1 and window[i] > 1:
            value = _with_gaps(b, value, opcode, d, window[i], strides[i], padding[i], gap, start)
            continue
        sizes[d], steps[d] = window[i], strides[i]
        pads[2 * d : 2 * d + 2] = padding[i]
    region = binary_region(opcode, element(value))
    properties = window_properties(sizes, pads, steps)
    if all(n == 1 for n in (*sizes, *steps)) and not any(pads):
        return value
    return b.op("reduce_window", [value, start], [region], **properties)


def _with_gaps(
    b: BlockBuilder,
    value: SSAValue,
    opcode: str,
    axis: int,
    window: int,
    stride: int,
    padding: tuple[int, int],
    gap: int,
    start: SSAValue,
) -> SSAValue:
    """Pool along one dimension with a dilated window by combining one slice for each tap."""
    rank = len(shape(value))
    if window > MOST_TAPS:
        refuse(f"a window of {window} elements with gaps is not supported")
    low, high = [0] * rank, [0] * rank
    low[axis], high[axis] = padding
    value = b.pad(value, start, low, high)
    dims = shape(value)
    places = (dims[axis] - (window - 1) * gap - 1) // stride + 1
    result: SSAValue | None = None
    for k in range(window):
        starts, limits, steps = [0] * rank, list(dims), [1] * rank
        starts[axis], steps[axis] = k * gap, stride
        limits[axis] = starts[axis] + (places - 1) * stride + 1
        part = b.slice(value, starts, limits, steps)
        result = part if result is None else b.binary(opcode, result, part)
    assert result is not None
    return result


def max_pool(
    b: BlockBuilder,
    value: SSAValue,
    layout: Layout,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
) -> SSAValue:
    """Compute the largest element of each window."""
    return pool(
        b,
        value,
        "maximum",
        layout,
        window=window,
        strides=strides,
        padding=padding,
        dilations=dilations,
    )


def average_pool(
    b: BlockBuilder,
    value: SSAValue,
    layout: Layout,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    counted: Pairs | None = None,
    dilations: Sequence[int] | None = None,
) -> SSAValue:
    """Compute the mean of each window.

    Padding is not counted, except for `counted` (pairs like `padding`, at most as large). Sums of
    16-bit floats are accumulated in f32.
    """
    summed = pool(
        b,
        wide(b, value),
        "add",
        layout,
        window=window,
        strides=strides,
        padding=padding,
        dilations=dilations,
    )
    places = shape(summed)
    if prod(places[d] for d in layout.spatial) > MOST_PLACES:
        refuse(f"its result of shape {list(places)} is too large")
    counts = np.ones([places[d] for d in layout.spatial], np.float32)
    for i, d in enumerate(layout.spatial):
        gap = 1 if dilations is None else dilations[i]
        low, high = (0, 0) if counted is None else counted[i]
        along = _counts(
            shape(value)[d], places[d], window[i], strides[i], gap, padding[i][0], low, high
        )
        counts *= along.reshape([-1 if k == i else 1 for k in range(len(layout.spatial))])
    counts = np.maximum(counts, 1)
    if counts.size and bool((counts == counts.flat[0]).all()):
        divisor = b.fill_like(float(counts.flat[0]), summed)
    else:
        constant = b.convert(b.constant(counts), element(summed))
        divisor = b.broadcast(constant, places, layout.spatial)
    return b.convert(b.binary("divide", summed, divisor), element(value))


def _counts(
    size: int, places: int, window: int, stride: int, gap: int, shift: int, low: int, high: int
) -> NDArray[np.float32]:
    """Return how many elements of each window of one dimension are counted."""
    starts = np.arange(places, dtype=np.int64) * stride - shift
    # Element k of a window is at start + k * gap: count from the first to the last one inside.
    first = np.maximum(-((starts + low) // gap), 0)
    after = np.minimum(-((starts - size - high) // gap), window)
    counted: NDArray[np.float32] = np.maximum(after - first, 0).astype(np.float32)
    return counted


def lp_pool(
    b: BlockBuilder,
    value: SSAValue,
    layout: Layout,
    p: int,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
) -> SSAValue:
    """Compute (sum |x|^p)^(1/p) of each window."""
    magnitude = b.unary("abs", value)
    powers = (
        b.binary("multiply", value, value)
        if p == 2
        else magnitude
        if p == 1
        else b.binary_number("power", magnitude, p)
    )
    summed = pool(
        b,
        powers,
        "add",
        layout,
        window=window,
        strides=strides,
        padding=padding,
        dilations=dilations,
    )
    if p == 1:
        return summed
    return b.unary("sqrt", summed) if p == 2 else b.binary_number("power", summed, 1 / p)


def max_pool_indices(
    b: BlockBuilder,
    value: SSAValue,
    layout: Layout,
    places: SSAValue,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
) -> SSAValue:
    """Return the value of `places` at the largest element of each window (the first if equal).

    `places` is an integer tensor like `value` that increases in row-major order within each window.
    """
    if prod(window) > MOST_TAPS:
        refuse(f"the indices of a window of {list(window)} elements are not supported")
    positions = max_pool(
        b,
        value,
        layout,
        window=window,
        strides=strides,
        padding=padding,
        dilations=dilations,
    )
    dims, out = shape(value), shape(positions)
    lowest, last = (
        neutral_element("maximum", element(value)),
        neutral_element("minimum", element(places)),
    )
    assert lowest is not None and last is not None
    best = b.fill(last, tensor(out, element(places)))
    low, high = [0] * len(dims), [0] * len(dims)
    for i, d in enumerate(layout.spatial):
        low[d], high[d] = (max(0, n) for n in padding[i])
    values = b.pad(value, b.scalar(lowest, element(value)), low, high)
    numbers = b.pad(places, b.scalar(last, element(places)), low, high)
    gaps = [1] * len(window) if dilations is None else dilations
    for offset in np.ndindex(*window):
        starts, limits, steps = [0] * len(dims), list(out), [1] * len(dims)
        for i, d in enumerate(layout.spatial):
            starts[d], steps[d] = offset[i] * gaps[i], strides[i]
            limits[d] = starts[d] + (out[d] - 1) * steps[d] + 1
        here = b.slice(values, starts, limits, steps)
        found = b.compare(here, positions, "EQ")
        number = b.slice(numbers, starts, limits, steps)
        best = b.binary("minimum", best, b.select(found, number, b.fill_like(last, number)))
    return best
