"""Lower RMS norms of rows along partitions: dots with ones sum over them.

The result has the layout that dots need, with the contraction on partitions, so nothing is
transposed. A dot of squares with a matrix of ones leaves the sum of each row on all partitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.layouts.cover import remaining
from neuronir.passes.lowering.layouts.layout import Form, dense, dim_atoms, join, merge, span
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.layouts.views import Chunk, Dim, chunks, numbers_of, plan
from neuronir.passes.lowering.products.norm_sides import features_of
from neuronir.passes.lowering.rows.normalization import norm_affine
from neuronir.passes.lowering.rows.softmax import converted
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.state import Lowering


@dataclass(frozen=True)
class Columns:
    """Rows along partitions: `form` holds a value [..., length] with `tiles` of its last dimension.

    Each of `starts` is the first element of a tile; `walk` traverses all other dimensions.
    """

    state: Lowering
    form: Form
    out: Form
    length: int
    starts: tuple[int, ...]
    walk: tuple[Dim, ...]

    def chunks(self) -> Iterator[Chunk]:
        """Return rows whose sums fill at most one PSUM bank."""
        machine = self.state.machine
        yield from chunks(self.walk, self.form.partitions, 3, machine.psum_bank_bytes // 4)

    def view(self, chunk: Chunk, start: int, which: int) -> View:
        """Return a tile of some rows, of the operand (0) or of the result (1)."""
        form = (self.form, self.out)[which]
        dims = [(d.strides[which], d.size) for d in chunk.dims]
        return form.at(chunk.number + start, chunk.partitions, dims)

    def numbers(self, chunk: Chunk, buffer: SSAValue) -> View:
        """Allocate one value for each of some rows, on all partitions."""
        strides: list[tuple[int, int]] = []
        step = 1
        for d in reversed(chunk.dims):
            strides.insert(0, (step, d.size))
            step *= d.size
        return View(buffer, 0, chunk.partitions, tuple(strides) or ((1, 1),))


def lower_across(state: Lowering, op: CompositeOp) -> bool:
    """Lower a norm whose rows are along partitions; return False if its layout cannot be
    traversed.
    """
    values = [state.value(v) for v in op.operands]
    result, dtype, absorbed = converted(state, op)
    columns = _columns(state, op, full_value(state, values[0]), dtype)
    if columns is None:
        return False
    epsilon = float(cast(FloatAttr, op.params.data["epsilon"]).value.data)
    factor, offset = (
        None
        if vector is None or vector.scalar == neutral
        else state.converter.ensure(vector, columns.form.partition, columns.form.partitions)
        for vector, neutral in zip(norm_affine(state, op, values), (1.0, 0.0), strict=True)
    )
    key = columns.form, epsilon
    if key not in state.norms.deviations:
        found = [_deviation(columns, chunk, epsilon, dtype) for chunk in columns.chunks()]
        state.norms.deviations[key] = dtype, found
    summed, deviations = state.norms.deviations[key]
    for chunk, deviation in zip(columns.chunks(), deviations, strict=True):
        if op in state.norms.recentred and factor is not None:
            _apply(columns, chunk, deviation, factor, None)
            _recentre(columns, chunk, offset, summed)
        else:
            _apply(columns, chunk, deviation, factor, offset)
    state.done.update(absorbed)
    made = new_value(state.shape(result), dtype)
    made.forms.append(columns.out)
    state.set(result, made)
    return True


def _columns(state: Lowering, op: CompositeOp, value: Value, dtype: DType) -> Columns | None:
    shape = value.shape
    partition = features_of(op, state.machine)
    if not partition:
        return None
    form = state.converter.ensure(value, partition, span(partition))
    if space_of(form.buffer) is Space.PSUM:  # the memory of DVE's other operand
        form = state.converter.to_sbuf(form)
    last = dim_atoms(shape, [len(shape) - 1])
    tiles = remaining(last, [a for a, _ in partition])
    if tiles is None:
        return None
    others = merge(dim_atoms(shape, range(len(shape) - 1)))
    atoms = (*tiles, *others)
    buffer = state.emitter.sbuf(span(partition), prod(a.size for a in atoms), dtype)
    out = Form(buffer, partition, join(dense(atoms)))
    walk = plan([form, out], others)
    if walk is None:
        return None
    return Columns(state, form, out, shape[-1], tuple(numbers_of(tiles)), tuple(walk))


def _sums(columns: Columns, chunk: Chunk, dtype: DType, views: Iterator[View]) -> View:
    """Sum some rows on all partitions; `views` are views of their tiles.

    If PE is the bottleneck, DVE first adds pairs of tiles.
    """
    state, emitter = columns.state, columns.state.emitter
    rows, size, n = chunk.partitions, chunk.elements, state.machine.partitions
    ones, base = state.constants.keep(f"ones.{dtype.name}", np.ones((n, n), dtype.numpy), dtype)
    stationary = View(ones, 0, rows, ((1, rows),), base, (), 0, dtype.name.lower())
    sums = columns.numbers(chunk, emitter.psum(rows, size))
    begun = False
    for view in views:
        other = next(views, None) if state.products.tensor_bound else None
        if other is not None or view_dtype(view) is not dtype:
            moving = columns.numbers(chunk, emitter.sbuf(rows, size, dtype))
            if other is None:
                emitter.copy(moving, view)
            else:
                emitter.tensor_tensor(AluOp.ADD, moving, view, other)
            view = moving
        emitter.matmul(sums, stationary, view, begun)
        begun = True
    return sums


def _squares(columns: Columns, chunk: Chunk, dtype: DType) -> Iterator[View]:
    """Compute the squares of some rows, tile by tile."""
    emitter = columns.state.emitter
    for start in columns.starts:
        buffer = emitter.sbuf(chunk.partitions, chunk.elements, dtype)
        squares = columns.numbers(chunk, buffer)
        emitter.activation(squares, columns.view(chunk, start, 0), Activation.SQUARE)
        yield squares


def _deviation(columns: Columns, chunk: Chunk, epsilon: float, dtype: DType) -> View:
    """Compute 1 / sqrt(mean of squares + epsilon) of each row, on all partitions.

    The result is in PSUM, because DVE reads one operand from there and one from SBUF at full rate.
    """
    state, emitter = columns.state, columns.state.emitter
    rows, size = chunk.partitions, chunk.elements
    sums = _sums(columns, chunk, dtype, _squares(columns, chunk, dtype))
    deviation = columns.numbers(chunk, emitter.psum(rows, size))
    if not state.machine.has_pool:
        emitter.activation(deviation, sums, Activation.RSQRT, 1.0 / columns.length, epsilon)
        return deviation
    # POOL, unlike ACT, needs no table for it, but cannot access PSUM
    means = columns.numbers(chunk, emitter.sbuf(rows, size, DType.F32))
    emitter.activation(means, sums, Activation.COPY, 1.0 / columns.length)
    emitter.tensor_scalar(means, means, AluOp.ADD, epsilon, AluOp.RSQRT, engine=Engine.POOL)
    emitter.activation(deviation, means, Activation.COPY)
    return deviation


def _apply(
    columns: Columns, chunk: Chunk, deviation: View, factor: Form | None, offset: Form | None
) -> None:
    """Emit out = x * deviation * factor + offset, the last two by partition."""
    emitter = columns.state.emitter
    for start in columns.starts:
        source, target = columns.view(chunk, start, 0), columns.view(chunk, start, 1)
        work = target
        if offset is not None:
            rows, size = chunk.partitions, chunk.elements
            work = columns.numbers(chunk, emitter.sbuf(rows, size, DType.F32))
        if factor is None:
            emitter.tensor_tensor(AluOp.MULTIPLY, work, source, deviation)
        else:
            emitter.emit(
                "scalar_tensor_tensor",
                [work],
                [source, factor.at(start, chunk.partitions, ()), deviation],
                {"op0": AluOp.MULTIPLY, "op1": AluOp.MULTIPLY},
                Engine.DVE,
            )
        if offset is not None:
            shift = offset.at(start, chunk.partitions, ())
            emitter.activation(target, work, Activation.COPY, 1.0, shift)


def _recentre(columns: Columns, chunk: Chunk, offset: Form | None, dtype: DType) -> None:
    """Subtract the mean of each row, and add the offset, whose mean is zero."""
    emitter = columns.state.emitter
    views = [columns.view(chunk, start, 1) for start in columns.starts]
    sums = _sums(columns, chunk, dtype, iter(views))
    buffer = emitter.psum(chunk.partitions, chunk.elements)
    means = columns.numbers(chunk, buffer)
    emitter.activation(means, sums, Activation.COPY, -1.0 / columns.length)
    for start, view in zip(columns.starts, views, strict=True):
        if offset is None:
            emitter.tensor_tensor(AluOp.ADD, view, view, means)
            continue
        emitter.emit(
            "scalar_tensor_tensor",
            [view],
            [view, offset.at(start, chunk.partitions, ()), means],
            {"op0": AluOp.ADD, "op1": AluOp.ADD},
            Engine.DVE,
        )
