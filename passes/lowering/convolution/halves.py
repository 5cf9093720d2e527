"""Put half of the rows of an image on each half of the partitions.

A matmul with half the rows and columns of the array costs as much as a full one. If the numbers of
input and output features are both exactly half the number of partitions, the upper half of the
image rows is put on the first half of the partitions, and the lower half on the second. The
stationary operand has the filter twice on its diagonal and computes both halves at once: that takes
half of the matmuls, and half of the columns to evict. The halves overlap by the extent of the
window, so the image is copied into them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.convolution.numbers import Operands, numbers_of_op
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, join, row_major
from neuronir.passes.lowering.layouts.values import (
    Partition,
    Value,
    constant_value,
    new_value,
    rename_dims,
)
from neuronir.passes.lowering.products.epilogue import Epilogue
from neuronir.passes.lowering.state import Lowering

COPIED = 512
"""Columns of an instruction that copies rows into a half."""


@dataclass(frozen=True)
class Halves:
    """A convolution of both halves at once, the layout of its result, and the rows of a half."""

    operands: Operands
    partition: Partition
    rows: Atom


def halves(
    state: Lowering, operands: Operands, shape: Sequence[int], epilogue: Epilogue
) -> Halves | None:
    """Return the convolution in halves, for a result of `shape`.

    Returns None if it does not fit, or if the result has readers other than dots along features.
    """
    n, image, weights = operands.numbers, operands.image, operands.weights
    machine = state.machine
    half = machine.partitions // 2
    fits = (
        n.groups == 1
        and len(n.spatial) == 2
        and image.shape[n.feature] == shape[n.o_feature] == half
        and 2 * half <= machine.pe_columns
        and weights.array is not None
        and shape[n.o_spatial[0]] % 2 == 0
        and epilogue.residual is None
        and epilogue.narrowed is None
    )
    if not fits or not _read_by_products(epilogue.result):
        return None
    height, width = (weights.shape[d] for d in n.k_spatial)
    rows = shape[n.o_spatial[0]] // 2
    if height * width == 1:
        return None
    first = [g * rows * n.strides[0] - n.low[0] for g in (0, 1)]
    count = (rows - 1) * n.strides[0] + (height - 1) * n.rhs_dilation[0] + 1
    halved = _copied(state, operands, first, count)
    if halved is None:
        return None
    axes = (*n.k_spatial, n.k_in, n.k_out)
    filter_ = state.products.derived(weights, ("halves", axes), lambda: _twice(weights, axes))
    numbers = replace(
        n,
        batch=0,
        feature=3,
        spatial=(1, 2),
        k_in=2,
        k_out=3,
        k_spatial=(0, 1),
        low=(0, n.low[1]),
        high=(0, n.high[1]),
    )
    order = row_major(shape)
    row = order[n.o_spatial[0]]
    partition = ((atom(2, rows * row), half), (atom(half, order[n.o_feature]), 1))
    return Halves(Operands(halved, filter_, numbers), partition, atom(rows, row))


def _read_by_products(value: SSAValue) -> bool:
    """Return whether all readers of a value are single-tap convolutions, which accept halves."""
    if not value.uses:
        return False
    for use in value.uses:
        op = use.operation
        if not isinstance(op, ConvolutionOp) or use.index != 0:
            return False
        if not _pointwise(op):
            return False
    return True


def _pointwise(op: ConvolutionOp) -> bool:
    n = numbers_of_op(op)
    kernel, image = shape_of(op.operands[1]), shape_of(op.operands[0])
    taps = all(kernel[d] == 1 for d in n.k_spatial)
    moves = any((*n.low, *n.high)) or any(s != 1 for s in (*n.strides, *n.lhs_dilation))
    return taps and not moves and n.groups == 1 and len(n.spatial) == 2 and image[n.batch] > 0


def _twice(weights: Value, order: tuple[int, ...]) -> Value:
    """Return the constant filter as [rows, columns, 2 * features, 2 * outputs], on the diagonal."""
    assert weights.array is not None
    array = weights.array.transpose(order)
    height, width, features, outputs = array.shape
    both = np.zeros((height, width, 2 * features, 2 * outputs), array.dtype)
    both[:, :, :features, :outputs] = array
    both[:, :, features:, outputs:] = array
    return constant_value(both, weights.dtype)


def _copied(state: Lowering, operands: Operands, first: list[int], count: int) -> Value | None:
    """Return the image as [batch, rows of a half, columns, half * feature].

    Each half has the rows from `first` on, and zeros after the end of the image.
    """
    n, image, emitter = operands.numbers, operands.image, state.emitter
    order = row_major(image.shape)
    batch, height, width = (image.shape[d] for d in (n.batch, *n.spatial))
    half = image.shape[n.feature]
    form = state.converter.ensure(image, ((atom(half, order[n.feature]), 1),), half)
    row = form.stride(atom(height, order[n.spatial[0]])) if height > 1 else 0
    column = form.stride(atom(width, order[n.spatial[1]])) if width > 1 else 1
    if row is None or column is None:
        return None
    buffer = emitter.sbuf(2 * half, batch * count * width, image.dtype)
    step = max(1, COPIED // width)
    for b in range(batch):
        for g, start in enumerate(first):
            low, end = max(0, -start), min(count, image.shape[n.spatial[0]] - start)
            for begin, rows in ((0, low), (end, count - end)):
                if rows > 0:
                    place = (b * count + begin) * width
                    edge = View(buffer, g * half, half, ((1, rows * width),), place)
                    emitter.memset(edge, 0.0, Engine.DVE)  # POOL is idle and would come too early
            for begin in range(low, end, step):
                rows = min(step, end - begin)
                number = b * order[n.batch] + (start + begin) * order[n.spatial[0]]
                source = form.at(number, half, [(row, rows), (column, width)])
                place = (b * count + begin) * width
                target = View(buffer, g * half, half, ((width, rows), (1, width)), place)
                emitter.copy(target, source)
    shape = [batch, count, width, 2 * half]
    value = new_value(shape, image.dtype)
    new = row_major(shape)
    sizes = ((batch, count * width), (count, width), (width, 1))
    free = tuple(
        (atom(size, stride), step)
        for (size, step), stride in zip(sizes, new, strict=False)
        if size > 1
    )
    value.forms.append(Form(buffer, ((atom(2 * half, 1), 1),), free))
    return value


def split_image(state: Lowering, image: Value, op: ConvolutionOp) -> Form | None:
    """Return the copy of an image with half of its rows on each half of the partitions.

    Returns None if there is none, or if it is no single-tap convolution that reads it.
    """
    if not _pointwise(op):
        return None
    n = numbers_of_op(op)
    features = image.shape[n.feature]
    order = row_major(image.shape)
    own = (atom(features, order[n.feature]), 1) if features > 1 else None
    for form in state.converter.source_forms(image):
        layout = join(form.partition)
        if form.hbm or form.start or len(layout) != 2 or layout[1] != own:
            continue
        half, step = layout[0]
        row, height = order[n.spatial[0]], image.shape[n.spatial[0]]
        if step == features and half.size == 2 and 2 * half.stride == row * height:
            return form
    return None


def on_both(
    state: Lowering, weights: Value, partition: Partition, half: int
) -> tuple[Value, Partition]:
    """Return a filter, with its layout, that has a copy on each half of the partitions."""
    shape = (2, *weights.shape)
    dims = range(1, len(shape))
    both = state.products.derived(weights, "both", lambda: rename_dims(weights, shape, dims))
    return both, ((atom(2, weights.size), half), *partition)
