"""Pad tensors, and compute the padding amounts of windows."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.passes.hlo.support.values import element, shape

LARGEST_PADDED = 1 << 22
"""Limit of elements for a dimension that is padded with its own elements, handled one by one."""
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def pad(
    b: BlockBuilder,
    value: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    mode: str = "constant",
    fill: SSAValue | None = None,
) -> SSAValue:
    """Pad each dimension by `low` and `high` elements; negative amounts cut (in every mode).

    `mode` is one of numpy's `constant` (with the scalar `fill`, else zero), `edge`, `reflect` (the
    edge once), `symmetric` (the edge twice) and `wrap`. If an amount exceeds the dimension, the
    pattern repeats.
    """
    if mode not in MODES:
        refuse(f"the padding mode '{mode}' is not known", "modes: " + ", ".join(MODES))
    if mode == "constant":
        fill = b.scalar(0, element(value)) if fill is None else b.reshape(fill, ())
        return b.pad(value, fill, low, high)
    dims = shape(value)
    starts = [max(0, -n) for n in low]
    limits = [n + min(0, h) for n, h in zip(dims, high, strict=True)]
    value = b.slice(value, starts, limits)
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if max(before, 0) or max(after, 0):
            value = _pad_axis(b, value, axis, max(before, 0), max(after, 0), mode)
    return value


def _pad_axis(
    b: BlockBuilder, value: SSAValue, axis: int, before: int, after: int, mode: str
) -> SSAValue:
    size = shape(value)[axis]
    if size == 0:
        refuse(f"an empty dimension cannot be padded in mode '{mode}'")
    if size + before + after > LARGEST_PADDED:
        refuse(f"a dimension of {size + before + after} elements cannot be padded in '{mode}' mode")
    places = [int(n) for n in np.pad(np.arange(size), (before, after), mode=mode)]  # type: ignore[call-overload]
    return _in_runs(b, value, axis, places)


def _in_runs(b: BlockBuilder, value: SSAValue, axis: int, places: Sequence[int]) -> SSAValue:
    """Return the elements at known positions of an axis as concatenated slices, some reversed."""
    parts: list[SSAValue] = []
    start = 0
    while start < len(places):
        step, end = _run(places, start)
        parts.append(_part(b, value, axis, places[start], end - start, step))
        start = end
    return b.concatenate(parts, axis)


def _run(places: Sequence[int], start: int) -> tuple[int, int]:
    """Return the step (1, -1, or 0 for a repeated position) and the end of the run from start."""
    if start + 1 == len(places) or abs(places[start + 1] - places[start]) > 1:
        return 1, start + 1
    step = places[start + 1] - places[start]
    end = start + 1
    while end < len(places) and places[end] - places[end - 1] == step:
        end += 1
    return step, end


def _part(b: BlockBuilder, value: SSAValue, axis: int, first: int, n: int, step: int) -> SSAValue:
    dims = shape(value)
    starts, limits = [0] * len(dims), list(dims)
    low = first if step >= 0 else first - n + 1
    starts[axis], limits[axis] = low, low + (1 if step == 0 else n)
    part = b.slice(value, starts, limits)
    if step < 0:
        return b.reverse(part, [axis])
    if step == 0:
        kept = [d for d in range(len(dims)) if d != axis]
        part = b.reshape(part, [dims[d] for d in kept])
        return b.broadcast(part, [n if d == axis else dims[d] for d in range(len(dims))], kept)
    return part


def same_padding(
    size: int, window: int, stride: int = 1, dilation: int = 1, *, lower: bool = False
) -> tuple[int, int]:
    """Return (low, high) such that a window has ceil(size / stride) positions.

    The odd element goes high, or low with `lower` (TensorFlow's SAME, ONNX's SAME_UPPER and
    SAME_LOWER).
    """
    positions = -(-size // stride)
    total = max(0, (positions - 1) * stride + (window - 1) * dilation + 1 - size)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def ceil_padding(size: int, window: int, stride: int, dilation: int, low: int, high: int) -> int:
    """Return the high padding that includes a last, partly covered window (ceil mode).

    A window that would start in the high padding is not included.
    """
    extent = (window - 1) * dilation + 1
    positions = -(-(size + low + high - extent) // stride) + 1
    if (positions - 1) * stride >= size + low:
        positions -= 1
    return max(high, (positions - 1) * stride + extent - size - low)
