"""The rows that a scatter updates, and estimates of the time of its transfers."""

import math
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Operation

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import combiner
from neuronir.passes.hlo.row_sums import OneHot, choose_one_hot
from neuronir.passes.hlo.scatter_one_hot import LARGEST
from neuronir.passes.hlo.support.values import element, integer, ints, shape

GAIN = 0.7
"""The estimated time must be below this share of that of the transfers."""
MOST = 8
"""Limit of tables, each of which needs a DMA queue."""


@dataclass(frozen=True)
class Rows:
    """A scatter of whole rows: `table` rows of `width` elements, and `count` updates.

    `unique`: no two updates have one row.
    """

    op: Operation
    table: int
    count: int
    width: int
    unique: bool

    @property
    def kind(self) -> Attribute:
        """The element type."""
        return element(self.op.results[0])

    def split(self, machine: Machine, columns: int) -> OneHot:
        """Return how row numbers select rows for sums of `columns`."""
        return choose_one_hot(machine, self.table, self.count, columns)


def rows_of(op: Operation, combiners: tuple[str, ...] = ("hlo.add",)) -> Rows | None:
    """Return the updates of a scatter that combines whole rows with those of its operand, or None.
    The indices address the first dimensions.
    """
    if len(op.operands) != 3 or combiner(op) not in combiners:
        return None
    if not is_float(element(op.results[0])):
        return None
    operand, indices, updates = op.operands
    dims, rank = shape(operand), len(shape(updates))
    chosen = ints(op, "scatter_dims_to_operand_dims")
    first = tuple(range(len(chosen)))
    if ints(op, "inserted_window_dims") != first or ints(op, "input_batching_dims"):
        return None
    table = prod(dims[: len(chosen)])
    if tuple(sorted(chosen)) != first or not 0 < table < LARGEST:
        return None
    rest = dims[len(chosen) :]
    window = tuple(range(rank - len(rest), rank))
    if ints(op, "update_window_dims") != window or shape(updates)[rank - len(window) :] != rest:
        return None
    if integer(op, "index_vector_dim") < len(shape(indices)) - 1:
        return None
    width, count = prod(rest), prod(shape(indices)) // max(len(chosen), 1)
    if not count or not chosen or not width or byte_size(element(operand)) > 4:
        return None
    unique = bool(cast(BoolAttr, op.properties["unique_indices"]))
    return Rows(op, table, count, width, unique)


def serial_ns(rows: Rows, machine: Machine) -> float:
    """Return the time of a transfer that adds rows one after another."""
    moved = 2 * rows.width * byte_size(rows.kind) / machine.dma_engine_gbps
    each = max(machine.dma_queue_descriptor_ns, moved)
    tiles = math.ceil(rows.count / machine.partitions)
    return rows.count * each + tiles * machine.dma_fixed_ns


def best_split(rows: Rows, machine: Machine) -> int:
    """Return the number of tables with the least estimated time; 1 if no split gains enough."""
    counts = [n for n in (2, 4, MOST) if rows.count >= n * machine.partitions]
    best = min(counts, key=lambda n: split_ns(rows, machine, n), default=1)
    return best if split_ns(rows, machine, best) < GAIN * serial_ns(rows, machine) else 1


def split_ns(rows: Rows, machine: Machine, tables: int) -> float:
    """Return the estimated time of a scatter in some tables and of their combination."""
    made = rows.count * machine.dma_software_descriptor_ns
    table = rows.table * rows.width * byte_size(rows.kind)
    moved = 2 * (tables - 1) * table / machine.dma_gbps
    lanes = (tables - 1) * rows.table * rows.width / machine.partitions
    combined = lanes * machine.dve_two_input_cycles / machine.dve_ghz
    return (
        max(made, serial_ns(rows, machine) / tables) + max(moved, combined) + machine.dma_fixed_ns
    )
