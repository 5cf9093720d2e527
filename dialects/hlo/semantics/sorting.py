"""Sort with any comparator, and compute top-k."""

from collections.abc import Callable, Sequence

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, is_complex, is_float
from neuronir.dialects.hlo.semantics.special import total_order_key

# less(l0, r0, l1, r1 ...) -> pred, elementwise on arrays of equal shape
Comparator = Callable[..., Array]


def sort(operands: Sequence[Array], dimension: int, less: Comparator) -> tuple[Array, ...]:
    """Sort `operands` together along `dimension` by the comparator (stable)."""
    rows = [np.moveaxis(x, dimension, -1) for x in operands]
    shape = rows[0].shape
    size = shape[-1]
    if size < 2 or rows[0].size == 0:
        return tuple(operands)
    flat = [np.ascontiguousarray(x).reshape(-1, size) for x in rows]
    order = _merge_order(flat, less)
    return tuple(
        np.moveaxis(np.take_along_axis(x, order, axis=1).reshape(shape), -1, dimension)
        for x in flat
    )


def _merge_order(rows: Sequence[Array], less: Comparator) -> Array:
    """Return the stable order of each row by merging sorted runs of 1, 2, 4, ... elements.

    The position of an element after a merge is its position in its own run plus the number of
    elements of the other run that precede it, found by binary search. Each step is one comparison
    of arrays.
    """
    count, size = rows[0].shape
    order = np.broadcast_to(np.arange(size, dtype=np.intp), (count, size))
    place = np.arange(size, dtype=np.intp)
    run = 1
    while run < size:
        begin = place // (2 * run) * (2 * run)
        middle = np.minimum(begin + run, size)
        end = np.minimum(begin + 2 * run, size)
        in_left = place < middle
        other_begin = np.where(in_left, middle, begin)
        other_end = np.where(in_left, end, middle)
        values = [np.take_along_axis(x, order, axis=1) for x in rows]
        low = np.broadcast_to(other_begin, (count, size)).copy()
        high = np.broadcast_to(other_end, (count, size)).copy()
        for _ in range(int(run).bit_length()):
            probe = np.minimum((low + high) // 2, size - 1)
            probed = [np.take_along_axis(v, probe, axis=1) for v in values]
            # Equal elements: those of the left run come first.
            before = np.where(
                in_left,
                _compare(less, probed, values),
                ~_compare(less, values, probed),
            )
            active = low < high
            low = np.where(active & before, probe + 1, low)
            high = np.where(active & ~before, probe, high)
        target = begin + (place - np.where(in_left, begin, middle)) + (low - other_begin)
        merged = np.empty((count, size), np.intp)
        np.put_along_axis(merged, target, order, axis=1)
        order = merged
        run *= 2
    return order


def _compare(less: Comparator, left: Sequence[Array], right: Sequence[Array]) -> Array:
    pairs = [x for pair in zip(left, right, strict=True) for x in pair]
    return np.broadcast_to(less(*pairs), left[0].shape)


def ascending_key(x: Array) -> Array:
    """Return integers (or the values themselves) whose numeric order is the sort order of `x`.

    Floats are ordered by IEEE totalOrder, so a positive NaN is the largest.
    """
    return total_order_key(x) if is_float(x.dtype) else x


def top_k(x: Array, k: int, *, largest: bool = True) -> tuple[Array, Array]:
    """Return the `k` largest (or smallest) values of the last dimension, and their s32 indices.

    Equal values are ordered by index. Floats are ordered by IEEE totalOrder, as on XLA's CPU
    backend.
    """
    if is_complex(x.dtype):
        raise TypeError("top-k of complex numbers has no order")
    key = ascending_key(x)
    if largest:
        key = np.invert(key) if key.dtype != np.bool_ else ~key
    order = np.argsort(key, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, axis=-1), order.astype(np.int32)
