"""Pack all taps with few features on partitions, for large images.

The image is written to HBM as planes, one for each feature and stride phase, including padding.
There, the elements that a tap reads for all outputs are one run, so each row of the moving operand,
(tap, feature), is one contiguous piece. The loads have few, large descriptors, and the convolution
becomes a single-tap one that contracts taps * features. If that takes no more matmuls, only some
taps of a row are packed, which needs fewer rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.convolution.numbers import Numbers, Operands
from neuronir.passes.lowering.layouts.demand import FEW_FEATURES, row_groups
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    row_major,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import (
    Value,
    constant_value,
    new_value,
    rename_dims,
    reshape,
)
from neuronir.passes.lowering.state import Lowering

SBUF_SHARE = 2
"""The fraction of a partition for the packed rows."""
RUN_BYTES = 4096
"""Bytes of a run from which a DMA engine works at its full rate (docs/hardware.md section 2.5)."""
TRIPS = 4
"""Consecutive transfers until the first rows are available: image, planes, rows, and their waits.
"""


@dataclass(frozen=True)
class _Axis:
    """One spatial dimension: elements of the image, outputs, taps."""

    size: int
    outputs: int
    taps: int
    stride: int
    dilation: int
    low: int
    reversed: bool
    together: int = 0

    @property
    def shifts(self) -> int:
        """Return the positions of a plane that an output needs."""
        return (self.taps - 1) * self.dilation // self.stride + 1

    @property
    def sets(self) -> int:
        """Return the number of sets of taps: `together` shifts of all phases are on partitions."""
        return -(-self.shifts // self.together) if self.together else 1

    @property
    def packed(self) -> int:
        """Return the taps of one set."""
        return self.together * self.stride if self.sets > 1 else self.taps

    @property
    def reach(self) -> int:
        """Return the elements along this dimension in one run."""
        return self.outputs + (self.sets - 1) * self.together

    @property
    def extent(self) -> int:
        """Return the elements of a plane along this dimension."""
        return self.outputs - 1 + max(self.shifts, self.sets * self.together)

    def place(self, tap: int) -> tuple[int, int]:
        """Return (phase, first element in its plane) of a tap."""
        position = (self.taps - 1 - tap if self.reversed else tap) * self.dilation
        return position % self.stride, position // self.stride

    def inside(self, phase: int) -> tuple[int, int]:
        """Return the elements [first, end) of a phase's plane that the image has."""
        first = max(0, -(-(self.low - phase) // self.stride))
        end = (self.size - 1 + self.low - phase) // self.stride + 1
        return min(first, self.extent), max(first, min(end, self.extent))


def packed_taps(state: Lowering, operands: Operands, outputs: Sequence[int]) -> Operands | None:
    """Return the same convolution with few taps; None if it does not fit or is not profitable.

    `outputs` are the result's sizes by spatial dimension.
    """
    n, image, weights = operands.numbers, operands.image, operands.weights
    if n.groups != 1 or len(n.spatial) != 2 or not image.dtype.is_float:
        return None
    axes = [
        _Axis(
            image.shape[d],
            outputs[i],
            weights.shape[n.k_spatial[i]],
            n.strides[i],
            n.rhs_dilation[i],
            n.low[i],
            n.reversal[i],
        )
        for i, d in enumerate(n.spatial)
    ]
    if weights.array is not None and n.rhs_dilation[1] == 1:
        axes[1] = _fewest(state.machine, axes, image.shape[n.feature])
    if not _worthwhile(state.machine, image, axes, n):
        return None
    partition = row_groups(image.shape, n.spatial[0], axes[0].stride, state.machine.partitions)
    if partition is None:
        return None
    form = state.converter.ensure(image, partition, partition[0][0].size)
    maker = _Planes(state, image, form, axes, n)
    if maker.strides is None:
        return None
    packed = maker.packed()
    columns = axes[1]
    flat = state.products.derived(
        weights,
        ("taps", n, columns),
        lambda: _in_order(weights, n) if columns.sets == 1 else _in_sets(weights, n, columns),
    )
    numbers = Numbers(
        0, 3, (1, 2), 2, 3, (0, 1), n.o_batch, n.o_feature, n.o_spatial,
        (1, 1), (0, 0), (0, 0), (1, 1), (1, max(1, axes[1].together)), (False, False),
    )  # fmt: skip
    return Operands(packed, flat, numbers)


def _fewest(machine: Machine, axes: Sequence[_Axis], features: int) -> _Axis:
    """Split the taps along a row into sets with the fewest matmuls, then the fewest rows."""
    rows, columns = axes

    def cost(axis: _Axis) -> tuple[int, int]:
        packed = rows.taps * axis.packed * features
        return axis.sets * -(-packed // machine.partitions), packed

    choices = [columns]
    choices += [replace(columns, together=g) for g in range(1, columns.shifts)]
    return min(choices, key=cost)


def _in_sets(weights: Value, n: Numbers, columns: _Axis) -> Value:
    """Return a constant filter as [1, sets, rows * packed * features, outputs], zero after the last
    tap.
    """
    assert weights.array is not None
    array = weights.array.transpose((*n.k_spatial, n.k_in, n.k_out))
    if columns.reversed:
        array = np.flip(array, 1)
    rows, taps, features, outputs = array.shape
    wide = np.zeros((rows, columns.sets * columns.packed, features, outputs), array.dtype)
    wide[:, :taps] = array
    split = wide.reshape(rows, columns.sets, columns.packed, features, outputs)
    flat = split.transpose(1, 0, 2, 3, 4).reshape(1, columns.sets, -1, outputs)
    return constant_value(np.ascontiguousarray(flat), weights.dtype)


def _worthwhile(machine: Machine, image: Value, axes: Sequence[_Axis], n: Numbers) -> bool:
    """Return whether the saved matmuls and transposes take longer than the packing's transfers."""
    features = image.shape[n.feature]
    taps = axes[0].taps * axes[1].taps
    if features > FEW_FEATURES or taps == 1:
        return False
    batch = image.shape[n.batch]
    tiles = -(-axes[0].taps * axes[1].packed * features // machine.partitions)
    run = axes[0].outputs * axes[1].extent
    room = machine.sbuf_usable_partition_bytes // SBUF_SHARE
    if tiles * batch * run * image.dtype.size > room:
        return False
    outputs = batch * axes[0].outputs * axes[1].outputs
    overhead = (
        machine.matmul_overhead_cycles + machine.pe_columns // machine.stationary_load_divisor
    )
    matmul = outputs * (1 + overhead / machine.matmul_max_moving)
    saved = (
        axes[0].taps - tiles
    ) * matmul + outputs  # rows of taps, and as many transposed columns
    return saved / machine.pe_ghz > TRIPS * machine.dma_fixed_ns


def _in_order(weights: Value, n: Numbers) -> Value:
    """Return the filter as [1, 1, taps * features, outputs]."""
    order = (*n.k_spatial, n.k_in, n.k_out)
    shape = [weights.shape[d] for d in order]
    if order != tuple(range(len(order))):
        if weights.array is not None:
            weights = constant_value(
                np.ascontiguousarray(weights.array.transpose(order)), weights.dtype
            )
        else:
            weights = rename_dims(weights, shape, [order.index(d) for d in range(len(order))])
    flat = [1, 1, prod(shape[:-1]), shape[-1]]
    if weights.array is not None:
        return constant_value(weights.array.reshape(flat), weights.dtype)
    return reshape(weights, flat)


class _Planes:
    """Writes the planes of an image to HBM, and loads the rows of taps from there."""

    def __init__(
        self, state: Lowering, image: Value, form: Form, axes: Sequence[_Axis], n: Numbers
    ) -> None:
        self.state = state
        self.image = image
        self.form = form
        self.rows, self.columns = axes
        self.features = image.shape[n.feature]
        self.batch = image.shape[n.batch]
        self.lanes = form.partition[0][0].size
        self.order = row_major(image.shape)
        self.dims = (n.batch, n.feature, *n.spatial)
        self.outer = image.shape[n.spatial[0]] // (self.lanes * self.rows.stride)
        self.pitch = self.columns.extent
        self.plane = self.rows.extent * self.pitch
        self.strides = self._strides()

    def _strides(self) -> dict[str, int] | None:
        """Return the strides of the image's form, by dimension."""
        _, feature, h, w = self.dims
        row = self.order[h]
        parts = {
            "outer": atom(self.outer, row * self.rows.stride * self.lanes),
            "row": atom(self.rows.stride, row),
            "column": atom(self.columns.size, self.order[w]),
            "feature": atom(self.features, self.order[feature]),
        }
        found: dict[str, int] = {}
        for name, part in parts.items():
            stride = self.form.stride(part) if part.size > 1 else 0
            if stride is None:
                return None
            found[name] = stride
        return found

    def packed(self) -> Value:
        """Return the image as [batch, rows, columns, taps * features] of outputs."""
        machine, dtype = self.state.machine, self.image.dtype
        planes = self.rows.stride * self.columns.stride * self.features
        memory = self.state.emitter.variable(
            "planes", "scratch", [self.batch, planes, self.rows.extent, self.pitch], dtype
        )
        self._zeros(memory)
        for b in range(self.batch):
            self._store(memory, b)
        total = self.rows.taps * self.columns.packed * self.features
        width = tile_width(total, machine.partitions)
        tiles = -(-total // width)
        size = self.rows.outputs * self.pitch
        buffer = self.state.emitter.sbuf(width, tiles * self.batch * size, dtype)
        for b in range(self.batch):
            self._load(memory, buffer, b, width)
        shape = [self.batch, self.rows.outputs, self.columns.reach, total]
        order = row_major(shape)
        free: list[tuple[Atom, int]] = []
        inner = atom(total, 1)
        if tiles > 1:
            outer, inner = tile(total, 1, width)
            free.append((outer, self.batch * size))
        for n, stride, step in zip(shape, order, (size, self.pitch, 1), strict=False):
            if n > 1:
                free.append((atom(n, stride), step))
        value = new_value(shape, dtype)
        value.forms.append(Form(buffer, ((inner, 1),), tuple(free)))
        return value

    def _zeros(self, memory: SSAValue) -> None:
        """Write the rows of padding above and below the image in all planes of a row phase."""
        inside = [self.rows.inside(phase) for phase in range(self.rows.stride)]
        most = max(max(first, self.rows.extent - end) for first, end in inside)
        if not most:
            return
        emitter = self.state.emitter
        planes = self.columns.stride * self.features
        buffer = emitter.sbuf(planes, most * self.pitch, self.image.dtype)
        emitter.memset(View(buffer, 0, planes, ((1, most * self.pitch),)), 0.0)
        for b in range(self.batch):
            for phase, (first, end) in enumerate(inside):
                for row, count in ((0, first), (end, self.rows.extent - end)):
                    if not count:
                        continue
                    run = ((1, count * self.pitch),)
                    offset = self._plane(b, phase, 0, 0) + row * self.pitch
                    emitter.dma(
                        View(memory, 0, planes, run, offset, (), self.plane),
                        View(buffer, 0, planes, run),
                    )

    def _plane(self, b: int, row_phase: int, column_phase: int, feature: int) -> int:
        """Return the first element of a plane."""
        phases = (b * self.rows.stride + row_phase) * self.columns.stride + column_phase
        return (phases * self.features + feature) * self.plane

    def _store(self, memory: SSAValue, b: int) -> None:
        """Sort an image's columns by phase, including padding, and write its rows."""
        assert self.strides is not None
        emitter, dtype = self.state.emitter, self.image.dtype
        steps, phases = self.strides, self.columns.stride
        row = phases * self.features * self.pitch  # of a row of the image, all phases and features
        rows = self.outer * self.rows.stride
        buffer = emitter.sbuf(self.lanes, rows * row, dtype)
        batch, _, _, w = self.dims
        for phase in range(phases):
            first, end = self.columns.inside(phase)
            at = phase * self.features * self.pitch
            for low, count in ((0, first), (end, self.pitch - end)):
                if count:
                    free = ((row, rows), (self.pitch, self.features), (1, count))
                    emitter.memset(View(buffer, 0, self.lanes, free, at + low), 0.0)
            if end <= first:
                continue
            column = first * self.columns.stride + phase - self.columns.low
            number = b * self.order[batch] + column * self.order[w]
            count = end - first
            for outer in range(self.outer):
                source = self.form.at(number, self.lanes, [
                    (steps["row"], self.rows.stride),
                    (steps["feature"], self.features),
                    (steps["column"] * self.columns.stride, count),
                ])  # fmt: skip
                shift = outer * steps["outer"]
                source = View(source.buffer, source.start, source.partitions, source.free,
                              source.offset + shift, source.indices, 0, source.dtype)  # fmt: skip
                free = ((row, self.rows.stride), (self.pitch, self.features), (1, count))
                place = at + first + outer * self.rows.stride * row
                emitter.copy(View(buffer, 0, self.lanes, free, place), source)
        for outer in range(self.outer):
            for k in range(self.rows.stride):
                position = k + self.rows.low
                phase, first = position % self.rows.stride, position // self.rows.stride
                first += outer * self.lanes
                lanes = min(self.lanes, self.rows.extent - first)
                if lanes <= 0:
                    continue
                offset = self._plane(b, phase, 0, 0) + first * self.pitch
                planes = phases * self.features
                emitter.dma(
                    View(memory, 0, lanes, ((self.plane, planes), (1, self.pitch)), offset, (),
                         self.pitch),
                    View(buffer, 0, lanes, ((self.pitch, planes), (1, self.pitch)),
                         (outer * self.rows.stride + k) * row),
                )  # fmt: skip

    def _column(self, tap: int) -> tuple[int, int]:
        """Return (phase, first element) of a tap along a row; sets of taps are in position
        order.
        """
        if self.columns.sets == 1:
            return self.columns.place(tap)
        return tap % self.columns.stride, tap // self.columns.stride

    def _load(self, memory: SSAValue, buffer: SSAValue, b: int, width: int) -> None:
        """Load the run of each (tap, feature) in strips of outputs, so that matmuls can start
        early.
        """
        bases = [
            self._plane(b, up[0], left[0], feature) + up[1] * self.pitch + left[1]
            for up in map(self.rows.place, range(self.rows.taps))
            for left in map(self._column, range(self.columns.packed))
            for feature in range(self.features)
        ]
        strip = max(1, -(-RUN_BYTES // (self.pitch * self.image.dtype.size)))
        for low in range(0, self.rows.outputs, strip):
            rows = min(strip, self.rows.outputs - low)
            run = (rows - 1) * self.pitch + self.columns.reach
            for start, count, step in _runs(bases, width):
                place = (start // width * self.batch + b) * self.rows.outputs + low
                self.state.emitter.dma(
                    View(buffer, start % width, count, ((1, run),), place * self.pitch),
                    View(memory, 0, count, ((1, run),), bases[start] + low * self.pitch, (), step),
                )


def _runs(bases: Sequence[int], width: int) -> list[tuple[int, int, int]]:
    """Return (first, count, step) of neighbours of one tile at evenly spaced positions."""
    out: list[tuple[int, int, int]] = []
    start = 0
    while start < len(bases):
        last = min(len(bases), (start // width + 1) * width)
        end = start + 1
        step = bases[end] - bases[start] if end < last else 0
        while end < last and step > 0 and bases[end] - bases[end - 1] == step:
            end += 1
        out.append((start, end - start, step if end > start + 1 else 0))
        start = end
    return out
