"""Split transfers into columns if HBM neighbours are on neighbouring partitions.

A descriptor is at least one piece of one partition. Pieces of a few bytes take as long as those of
kilobytes, unless their bytes are contiguous in HBM, where they share a burst
(docs/machine-trn1.md). A transfer visits the partitions one by one, so only a transfer with a
single piece per partition is in HBM order. Indices and masks, of which each HBM row becomes an
on-chip column, are therefore transferred column by column.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import view_dtype

MOST_COLUMNS = 64
"""Limit of the transfers into which one is split."""


def by_columns(machine: Machine, chip: View, memory: View) -> Iterator[tuple[View, View]]:
    """Return the accesses of a transfer between the chip and HBM (with the same free dims).

    The transfer is whole or split into columns, whichever takes the DMA queue less time.
    """
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
