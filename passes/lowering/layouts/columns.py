"""Transfers cut into columns: neighbours in HBM that lie on neighbouring partitions.

A descriptor is a piece of one partition at least, and those of a few bytes take as long as those of
kilobytes, unless their bytes follow each other in HBM, where they share a burst
(docs/machine-trn1.md). A transfer goes through the partitions one by one, so that only one with a
single piece in each is in HBM's order: indices and masks, of which each row of HBM becomes a column
on the chip, are moved column by column.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import view_dtype

MOST_COLUMNS = 64
"""Transfers that one is cut into at most."""


def by_columns(machine: Machine, chip: View, memory: View) -> Iterator[tuple[View, View]]:
    """The accesses of a transfer between the chip and HBM (with the same free dims), as it is or
    cut into columns, whichever takes the DMA queue less time."""
    dims = [
        (n, a, b) for (a, n), (b, _) in zip(chip.free, memory.free, strict=True) if n > 1
    ]  # (size, stride on the chip, stride in HBM)
    run = 1
    while dims and dims[-1][1] == dims[-1][2] == run:
        run *= dims.pop()[0]
    together = machine.dma_burst_bytes // (run * view_dtype(chip).size)
    contiguous = memory.partition_stride == run and together > 1
    columns = prod(n for n, _, _ in dims)
    row = chip.partitions * machine.dma_queue_descriptor_ns / machine.dma_engines
    if (
        not contiguous
        or not 1 < columns <= MOST_COLUMNS
        or max(machine.dma_trigger_ns, row / together) >= row
    ):
        yield chip, memory
        return
    for steps in product(*(range(n) for n, _, _ in dims)):
        low = sum(i * a for i, (_, a, _) in zip(steps, dims, strict=True))
        at = sum(i * b for i, (_, _, b) in zip(steps, dims, strict=True))
        yield (
            replace(chip, free=((1, run),), offset=chip.offset + low),
            replace(memory, free=((1, run),), offset=memory.offset + at),
        )
