"""Move elements without arithmetic: broadcast, pad, slice, concatenate, dynamic slices and iota."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.convert import convert
from neuronir.dialects.hlo.semantics.numeric import Array


def broadcast(x: Array, dimensions: Sequence[int], shape: Sequence[int]) -> Array:
    """Broadcast `x` to `shape`, mapping its dimension i to `dimensions[i]` (a view)."""
    order = np.argsort(dimensions)
    expanded = [1] * len(shape)
    for source, target in enumerate(dimensions):
        expanded[target] = x.shape[source]
    return np.broadcast_to(x.transpose(order).reshape(expanded), tuple(shape))


def iota(shape: Sequence[int], dimension: int, dtype: np.dtype[Any]) -> Array:
    """Return 0, 1, 2, ... along `dimension`, in `dtype`."""
    line = convert(np.arange(shape[dimension], dtype=np.int64), dtype)
    return broadcast(line, (dimension,), shape)


def pad(
    x: Array,
    value: Array,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
) -> Array:
    """Pad `x` by `low` and `high` at the edges (negative: cut) and `interior` between elements."""
    if not (any(low) or any(high) or any(interior)):
        return x
    shape = []
    source = []
    target = []
    for size, before, after, between in zip(x.shape, low, high, interior, strict=True):
        step = between + 1
        dilated = (size - 1) * step + 1 if size else 0
        length = max(0, before + dilated + after)
        shape.append(length)
        # Element i moves to before + i * step; keep the elements inside [0, length).
        first = max(0, -(before // step))
        last = min(size, (length - 1 - before) // step + 1)
        count = max(0, last - first)
        source.append(slice(first, first + count))
        begin = before + first * step
        target.append(
            slice(begin, begin + max(0, count - 1) * step + 1, step) if count else slice(0, 0)
        )
    result = np.empty(shape, x.dtype)
    result[...] = value
    result[tuple(target)] = x[tuple(source)]
    return result


def strided_slice(
    x: Array, start: Sequence[int], limit: Sequence[int], strides: Sequence[int]
) -> Array:
    """Return the elements start, start + stride, ... below limit of each dimension (a view)."""
    return x[tuple(slice(s, e, d) for s, e, d in zip(start, limit, strides, strict=True))]


def reverse(x: Array, dimensions: Sequence[int]) -> Array:
    """Reverse `x` along these dimensions (a view)."""
    return np.flip(x, tuple(dimensions)) if dimensions else x


def _clamped_window(
    shape: Sequence[int], start: Sequence[Array], sizes: Sequence[int]
) -> tuple[slice, ...]:
    window = []
    for extent, index, size in zip(shape, start, sizes, strict=True):
        begin = min(max(int(index), 0), extent - size)
        window.append(slice(begin, begin + size))
    return tuple(window)


def dynamic_slice(x: Array, start: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Return the window of `sizes` at `start`, clamped so that it fits in `x` (a view)."""
    return x[_clamped_window(x.shape, start, sizes)]


def dynamic_update_slice(x: Array, update: Array, start: Sequence[Array]) -> Array:
    """Return a copy of `x` with `update` at `start`, clamped so that it fits."""
    result = np.array(x)
    result[_clamped_window(x.shape, start, update.shape)] = update
    return result


def relayout_bitcast(
    x: Array,
    operand_layout: Sequence[int],
    result_layout: Sequence[int],
    shape: Sequence[int],
    dtype: np.dtype[Any],
) -> Array:
    """Reinterpret the bytes of `x` in its layout as `shape` and `dtype` in the result's layout.

    Layouts are minor_to_major. The result is the logical array.
    """
    physical = np.ascontiguousarray(x.transpose(list(reversed(operand_layout))))
    major_to_minor = list(reversed(result_layout))
    stored = physical.reshape(-1).view(dtype).reshape([shape[i] for i in major_to_minor])
    return stored.transpose(np.argsort(major_to_minor)) if major_to_minor else stored
