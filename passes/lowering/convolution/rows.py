"""Join the taps of a row with few features.

Rows of the image are on partitions, windows along a row are overlapping views, and PE transposes
bring (tap, feature) to the partitions.
"""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.passes.lowering.convolution.numbers import Numbers, Operands
from neuronir.passes.lowering.convolution.padding import padded
from neuronir.passes.lowering.layouts.demand import FEW_FEATURES
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, row_major, tile, tile_width
from neuronir.passes.lowering.layouts.values import Partition, new_value, reshape
from neuronir.passes.lowering.state import Lowering


def _may_join(operands: Operands, outputs: Sequence[int], limit: int) -> bool:
    """Return whether the taps of the last spatial dimension can be joined to the features.

    The features must be few, both must be adjacent in the image and in the filter, and some row of
    taps must be inside for all rows.
    """
    n, image, weights = operands.numbers, operands.image, operands.weights
    h, w = n.spatial
    features = image.shape[n.feature]
    kernel_rows, taps = (weights.shape[d] for d in n.k_spatial)
    order, kernel = row_major(image.shape), row_major(weights.shape)
    rows_last = (
        order[n.feature] == 1 and order[w] == features and order[h] == features * image.shape[w]
    )
    k_order = (*n.k_spatial, n.k_in, n.k_out)
    fits = (
        n.groups == 1
        and features <= FEW_FEATURES
        and taps > 1
        and features * taps <= limit
        and rows_last
        and n.rhs_dilation[1] == 1
        and not n.reversal[1]
        and k_order == tuple(sorted(k_order))
        and kernel[n.k_spatial[1]] == features * kernel[n.k_in]
    )
    return fits and any(
        n.range(0, t, kernel_rows, image.shape[h], outputs[0]) == (0, outputs[0])
        for t in range(kernel_rows)
    )


def _inner_rows(size: int, stride: int, width: int) -> Partition:
    """Put rows on partitions: all of them, or the inner digit of `width`."""
    if width < size:
        return ((tile(size, stride, width)[1], 1),)
    return ((atom(size, stride), 1),)


def _joined_numbers(n: Numbers) -> Numbers:
    """Return the dimension numbers after taps are joined to the features."""
    return replace(
        n,
        batch=0,
        feature=3,
        spatial=(1, 2),
        k_in=2,
        k_out=3,
        k_spatial=(0, 1),
        strides=(n.strides[0], 1),
        low=(n.low[0], 0),
        high=(n.high[0], 0),
    )


def joined_taps(state: Lowering, operands: Operands, outputs: Sequence[int]) -> Operands | None:
    """Return the same convolution with the taps of the last spatial dimension joined to the
    features.

    Returns None if it does not fit. `outputs` are the result's sizes by spatial dimension.
    """
    n, image, weights = operands.numbers, operands.image, operands.weights
    limit = state.machine.partitions
    if not image.dtype.is_float or len(n.spatial) != 2:
        return None
    h, w = n.spatial
    features = image.shape[n.feature]
    kernel_rows, taps = (weights.shape[d] for d in n.k_spatial)
    order = row_major(image.shape)
    if not _may_join(operands, outputs, limit):
        return None
    width = tile_width(image.shape[h], limit)
    rows = _inner_rows(image.shape[h], order[h], width)
    rank = len(image.shape)
    low, high = [0] * rank, [0] * rank
    low[w], high[w] = n.low[1], n.high[1]
    image = padded(state, image, low, high, [0] * rank, 0.0, rows)
    order = row_major(image.shape)
    rows = _inner_rows(image.shape[h], order[h], width)
    form = state.converter.ensure(image, rows, width)
    column = form.stride(atom(image.shape[w], order[w]))
    channel = form.stride(atom(features, 1)) if features > 1 else 1
    if column is None or channel is None:
        return None
    columns = outputs[1]
    shape = [image.shape[n.batch], image.shape[h], columns, taps * features]
    new = row_major(shape)
    partition = tuple((_scaled(a, order[h], new[1]), s) for a, s in form.partition)
    free: list[tuple[Atom, int]] = []
    for a, stride in form.free:
        if a.stride >= order[h]:
            base = new[0] if a.stride >= order[n.batch] and image.shape[n.batch] > 1 else new[1]
            old = order[n.batch] if base == new[0] and a.stride >= order[n.batch] else order[h]
            free.append((_scaled(a, old, base), stride))
    free.append((atom(columns, new[2]), column * n.strides[1]))
    free.append((atom(taps, features), column))
    if features > 1:
        free.append((atom(features, 1), channel))
    unfolded = new_value(shape, image.dtype)
    unfolded.forms.append(Form(form.buffer, partition, tuple(free), 0, form.offset, form.dtype))
    joined = reshape(weights, [kernel_rows, 1, taps * features, weights.shape[n.k_out]])
    return Operands(unfolded, joined, _joined_numbers(n))


def _scaled(a: Atom, old: int, new: int) -> Atom:
    return Atom(a.size, a.stride // old * new, a.unit // old * new, a.extent)
