"""Pad and dilate values for windows and convolutions."""

from collections.abc import Sequence
from math import isfinite

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    dim_atoms,
    merge,
    row_major,
    split_at,
)
from neuronir.passes.lowering.layouts.values import (
    Partition,
    Value,
    new_value,
    scalar_value,
    slice_value,
)
from neuronir.passes.lowering.rules.movement import copy_into
from neuronir.passes.lowering.state import Lowering


def padded(
    state: Lowering,
    value: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
    fill: float,
    partition: Partition,
) -> Value:
    """Return `value` with `low` and `high` elements of `fill` around and `interior` between its
    elements.

    `partition` (in atoms of the value) only has dimensions that are not padded. Negative padding
    cuts. Returns the value itself if there is nothing to do, and `fill` alone if nothing of it
    remains.
    """
    shape = tuple(
        (n - 1) * (i + 1) + 1 + a + b
        for n, a, b, i in zip(value.shape, low, high, interior, strict=True)
    )
    if shape == value.shape and not any(low) and not any(interior):
        return value
    starts, limits, place = [], [], []
    for n, a, extent, i in zip(value.shape, low, shape, interior, strict=True):
        step = i + 1
        first = -(a // step) if a < 0 else 0
        last = n
        while last > first and a + (last - 1) * step >= extent:
            last -= 1
        starts.append(first)
        limits.append(last)
        place.append(a + first * step)
    if any(b <= a for a, b in zip(starts, limits, strict=True)):
        return scalar_value(shape, value.dtype, fill)
    whole = starts == [0] * len(starts) and limits == list(value.shape)
    piece = value if whole else slice_value(value, starts, limits, [1] * len(starts))
    if shape == piece.shape:
        return piece
    result = new_value(shape, value.dtype)
    result.special = not isfinite(fill) or value.may_be_special()
    support = merge(dim_atoms(shape, range(len(shape))))
    target = state.allocate(support, renumbered(value, partition, shape), value.dtype)
    _fill(state, target, shape, low, high, interior, fill, value)
    copy_into(state, target, shape, piece, place, [i + 1 for i in interior])
    result.forms.append(target)
    return result


def _fill(
    state: Lowering,
    target: Form,
    shape: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
    fill: float,
    value: Value,
) -> None:
    """Write the padding: only the borders if there is no interior padding."""
    if any(interior):
        everywhere = scalar_value(shape, value.dtype, fill)
        copy_into(state, target, shape, everywhere, [0] * len(shape))
        return
    for d, (a, b) in enumerate(zip(low, high, strict=True)):
        # Padding that the other end cuts extends beyond the result.
        first, last = min(a, shape[d]), max(shape[d] - b, 0)
        for start, size in ((0, first), (last, shape[d] - last)):
            if size <= 0:
                continue
            border = list(shape)
            border[d] = size
            starts = [0] * len(shape)
            starts[d] = start
            copy_into(state, target, shape, scalar_value(border, value.dtype, fill), starts)


def renumbered(value: Value, partition: Partition, shape: Sequence[int]) -> Partition:
    """Return partition atoms of `value`, of unpadded dimensions, in the numbering of `shape`."""
    old, new = row_major(value.shape), row_major(shape)
    ends = {o * n for o, n in zip(old, value.shape, strict=True)}
    out = []
    for whole, step in partition:
        for a in (whole,) if whole.ragged else split_at(whole, {*old, *ends}) or (whole,):
            d = next(
                (
                    d
                    for d in range(len(shape))
                    if value.shape[d] > 1
                    and old[d] <= a.stride
                    and a.end <= old[d] * value.shape[d]
                ),
                None,
            )
            if d is None:
                raise NeuronError("NIR_LOW004", "padding cuts a factor of its layout")
            k, base = new[d], old[d]
            renamed = Atom(a.size, a.stride // base * k, a.unit // base * k, a.extent)
            out.append((renamed, step * (a.stride // whole.stride)))
    return tuple(out)
