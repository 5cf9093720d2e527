"""Gather single elements on POOL, from rows that lie in SBUF, instead of by descriptors."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from neuronir.dialects.nc.cost import n_gather_ns
from neuronir.dialects.nc.enums import AluOp
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.layout import Form, atom, dim_atoms, merge, tile_width
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value, reshape
from neuronir.passes.lowering.layouts.views import Dim
from neuronir.passes.lowering.rules.row_numbers import (
    Integers,
    as_vector,
    row_count,
    row_tiles,
    scaled,
)
from neuronir.passes.lowering.rules.windows import row_partition
from neuronir.passes.lowering.state import Lowering


@dataclass(frozen=True)
class Elements:
    """A gather of `picks` single elements from each of `rows` rows of `size` elements."""

    rows: int
    size: int
    picks: int

    def partition(self, machine: Machine) -> Partition:
        """Return the rows that are on partitions; picks, if there is one row for all of them."""
        if self.rows > 1:
            return row_partition(self.rows, machine.partitions)
        width = tile_width(self.picks, machine.partitions)
        return ((atom(width, self.picks // width), 1),)

    def is_faster(self, machine: Machine, element_bytes: int) -> bool:
        """Return whether POOL takes less time than descriptors, and the rows fit in SBUF."""
        tiles = -(-self.rows // machine.partitions)
        each = self.picks
        if self.rows == 1:
            width = tile_width(self.picks, machine.partitions)
            if width < 2 or self.picks % width:
                return False
            each //= width
        held = tiles * (self.size * element_bytes + 2 * each * 4)
        if held > machine.sbuf_usable_partition_bytes // 3:
            return False
        if max(self.size, each) > machine.max_free_sbuf:
            return False
        loaded = self.rows * self.size * element_bytes / machine.dma_gbps
        taken = loaded + tiles * n_gather_ns(machine, self.size, each)
        return taken < self.rows * self.picks * machine.dma_software_descriptor_ns


def elements_of(
    shape: Sequence[int],
    sizes: Sequence[int],
    moving: Sequence[int],
    batch: tuple[Sequence[int], Sequence[int]],
    picks: int,
) -> Elements | None:
    """Return the elements that a gather picks along one dimension, or None if it takes more.

    `moving` are the dimensions that the indices address, `batch` the batch dimensions of the
    operand and of the indices. The batch dimensions of the indices must come first. `picks` is the
    number of all indices.
    """
    batching, index_batching = batch
    if len(moving) != 1 or list(index_batching) != list(range(len(index_batching))):
        return None
    taken = prod(n for d, n in enumerate(sizes) if d not in batching)
    rows = prod(shape[d] for d in batching)
    if taken != 1 or not rows or picks % rows:
        return None
    return Elements(rows, shape[moving[0]], picks // rows)


def gather_elements(state: Lowering, table: Value, column: Value, elements: Elements) -> Value:
    """Return the elements [picks, 1] of `table` [rows, size] at the clamped indices `column`."""
    rows, size, picks = elements.rows, elements.size, elements.picks
    count = rows * picks
    partition = elements.partition(state.machine)
    chosen = tuple((scaled(a, picks), s) for a, s in partition) if rows > 1 else partition
    exact = Integers(state, count, chosen)
    number = exact.scalar(as_vector(column, count), AluOp.MAX, 0.0, AluOp.MIN, float(size - 1))
    index = state.converter.ensure(number, chosen, row_count(chosen))
    flat = new_value((count, 1), table.dtype)
    out = state.allocate(merge([atom(count, 1)]), chosen, table.dtype)
    source = reshape(table, (rows * size,))
    if rows > 1:
        held, across = _rows(state, source, partition, elements)
        inner = dim_atoms((rows, picks), [1])
    else:
        held = state.converter.ensure(source, (), state.machine.partitions)
        held = state.converter.to_sbuf(held)
        held, across = state.converter.beside(source, held, [], dim_atoms((size,), [0]))
        inner = merge([atom(picks // row_count(chosen), 1)])
    index, along = state.converter.beside(number, index, [out], inner)
    tiles = row_tiles(partition, rows) if rows > 1 else [(0, row_count(chosen))]
    for first, partitions in tiles:
        state.emitter.emit(
            "n_gather",
            [out.at(first * picks, partitions, _free(along, 0))],
            [
                held.at(first * size, partitions, _free(across, 0)),
                index.at(first * picks, partitions, _free(along, 1)),
            ],
            {},
        )
    flat.forms.append(out)
    return flat


def _rows(
    state: Lowering, source: Value, partition: Partition, elements: Elements
) -> tuple[Form, list[Dim]]:
    """Return the table with its rows on partitions, and the dimensions of a row."""
    rows = tuple((scaled(a, elements.size), s) for a, s in partition)
    held = state.converter.to_sbuf(state.converter.ensure(source, rows, row_count(rows)))
    along = dim_atoms((elements.rows, elements.size), [1])
    return state.converter.beside(source, held, [], along)


def _free(dims: Sequence[Dim], which: int) -> list[tuple[int, int]]:
    return [(d.strides[which], d.size) for d in dims]
