"""Describe the windows of a gather, a scatter or a dynamic slice as rows of a table in HBM.

A window has several rows if it is not contiguous in the table. Rows of the table may overlap: they
begin at each position along its `lead` dimensions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.layout import atom, row_major, tile, tile_width
from neuronir.passes.lowering.layouts.values import Partition, Value, rename_dims, reshape


def row_partition(count: int, limit: int) -> Partition:
    """Return the layout of a vector of `count` indices: rows on partitions."""
    if count == 1:
        return ()
    width = tile_width(count, limit)
    return ((tile(count, 1, width)[1] if width < count else atom(count, 1), 1),)


def group_partition(count: int, group: int, limit: int) -> Partition | None:
    """Return the layout of a vector of indices with whole groups of `group` indices a partition.

    Adjacent groups share a partition, as if the vector were loaded by rows. Returns None if
    groups would leave most partitions empty.
    """
    groups = count // group
    width = tile_width(groups, limit)
    if groups % width or width < limit // 4:
        return None
    return ((atom(width, count // width), 1),)


@dataclass(frozen=True)
class Windows:
    """The windows of a tensor of `shape`.

    `lead` are the dimensions that choose a row of the table, in the order of the row numbers. They
    include all of which a window takes a part. `extents` are its sizes along them, and `positions`
    is the number of windows. A row consists of `run` adjacent positions along the last of them,
    with all of the other dimensions. The reader of the windows combines `group` adjacent rows.
    """

    shape: tuple[int, ...]
    lead: tuple[int, ...]
    extents: Mapping[int, int]
    positions: int
    group: int = 1
    run: int = 1

    def partition(self, limit: int) -> Partition:
        """Return the layout of the row numbers on `limit` partitions."""
        grouped = group_partition(self.count, self.group, limit) if self.group > 1 else None
        return row_partition(self.count, limit) if grouped is None else grouped

    @property
    def rows(self) -> int:
        """Return the rows of the whole tensor."""
        return prod(self.shape[d] for d in self.lead) - self.run + 1

    @property
    def rest(self) -> tuple[int, ...]:
        """Return the dimensions of which a row takes all."""
        return tuple(d for d in range(len(self.shape)) if d not in self.lead)

    @property
    def step(self) -> int:
        """Return the elements from one row of the tensor to the next."""
        return prod(self.shape[d] for d in self.rest)

    @property
    def row(self) -> int:
        """Return the elements of a row."""
        return self.run * self.step

    @property
    def per_window(self) -> int:
        """Return the rows of a window."""
        return prod(self.extents[d] for d in self.lead) // self.run

    @property
    def count(self) -> int:
        """Return the rows of all windows."""
        return self.positions * self.per_window

    def offsets(self, base: Sequence[int] | NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """Return the row numbers of each window with start 0, plus `base` of each position."""
        unit = row_major([self.shape[d] for d in self.lead])
        inside = np.zeros(1, np.int64)
        for d, step in zip(self.lead, unit, strict=True):
            places = np.arange(0, self.extents[d], self.run if d == self.lead[-1] else 1)
            inside = (inside[:, None] + places * step).reshape(-1)
        outer = np.zeros(self.positions, np.int64) if base is None else np.asarray(base)
        return (outer[:, None] + inside[None, :]).reshape(-1).astype(np.int32)

    def spread(self, column: Value) -> Value:
        """Repeat a value per position for each row."""
        if column.scalar is not None or self.per_window == 1:
            return column
        shape = (self.positions, self.per_window)
        return reshape(rename_dims(column, shape, [0]), (self.count,))


SHORT_ROW = 512
"""Bytes up to which a longer row costs nothing: the time of a descriptor bounds the transfer."""


def with_runs(windows: Windows, dtype: DType, machine: Machine) -> Windows:
    """Join adjacent rows of a window to longer ones.

    Rows beyond SHORT_ROW are only joined while there are enough of them for all partitions. None
    is longer than a descriptor.
    """
    if not windows.lead:
        return windows
    extent = windows.extents[windows.lead[-1]]
    size = windows.step * dtype.size
    fits = [
        n
        for n in range(1, extent + 1)
        if extent % n == 0
        and n * size <= machine.dma_max_descriptor_bytes
        and (n * size <= SHORT_ROW or windows.count // n >= machine.partitions)
    ]
    return replace(windows, run=max(fits, default=1))


def in_order(windows: Windows) -> Windows:
    """Return the same windows as rows of the tensor in the order of its dimensions."""
    lead = tuple(range(max(windows.lead, default=-1) + 1))
    extents = {d: windows.extents.get(d, windows.shape[d]) for d in lead}
    return replace(windows, lead=lead, extents=extents)


def choose_windows(windows: Windows, dtype: DType, machine: Machine, moved: bool) -> Windows:
    """Return the rows to transfer: those of the tensor as it is, or those of a copy with the lead
    dimensions first.

    The copy has to be written to HBM, but has fewer rows. With `moved`, it is there already.
    """
    kept = with_runs(in_order(windows), dtype, machine)
    turned = with_runs(windows, dtype, machine)
    if moved or turned.lead == kept.lead:
        return turned
    each = max(
        machine.dma_software_descriptor_ns, machine.dma_queue_descriptor_ns / machine.dma_engines
    )
    more = (kept.count - turned.count) * each
    return kept if more <= _turning_ns(turned, dtype, machine) else turned


def _turning_ns(windows: Windows, dtype: DType, machine: Machine) -> float:
    """Return the time to write a tensor to HBM with the lead dimensions first, at least."""
    order = [*windows.lead, *windows.rest]
    run = 1
    while order and order[-1] == len(order) - 1:  # dimensions that stay where they are
        run *= windows.shape[order.pop()]
    pieces = prod(windows.shape) / run
    store = max(
        prod(windows.shape) * dtype.size / machine.dma_gbps,
        pieces * machine.dma_queue_descriptor_ns / machine.dma_engines,
    )
    return 2 * machine.dma_fixed_ns + store
