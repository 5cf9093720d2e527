"""Move buffers away from bytes that an unfinished transfer still reads.

A transfer takes microseconds to read its buffer, while the instructions that follow it take tens of
nanoseconds each. A buffer that reuses these bytes waits for the whole transfer. If other addresses
are free, the buffer is moved there.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Packing, lowest_gap
from neuronir.passes.statistics import record

PLACES = 384
"""The number of instructions after a transfer for which its bytes should not be reused."""


def read_by_transfers(order: Sequence[Node], buffers: Sequence[Buffer]) -> dict[int, int]:
    """Return the on-chip buffers that transfers read, each with the position of the last transfer.

    Positions count the instructions inside loops.
    """
    out: dict[int, int] = {}
    looked_up: set[int] = set()  # index buffers that one gather has read
    places = 0

    def walk(nodes: Sequence[Node]) -> None:
        nonlocal places
        for node in nodes:
            if node.record is None:
                walk(node.body)
                continue
            opcode = node.record.opcode
            if opcode.startswith("dma"):
                read = [a.buffer for a in node.accesses if not a.write]
                chosen = [k for k in read if buffers[k].space == Space.SBUF]
                # gathers with the same indices follow each other; a single one ends soon
                out.update((k, places) for k in chosen if opcode == "dma" or k in looked_up)
                looked_up.update(chosen)
            places += 1

    walk(order)
    return out


def step_aside(
    packing: Packing, items: Sequence[Item], lives: Mapping[int, Life], read: Mapping[int, int]
) -> None:
    """Move items that reuse bytes soon after a transfer `read` them to bytes that are free.

    `read` has the position of each transfer. The total height does not grow.
    """
    number = {i.key: k for k, i in enumerate(items)}
    until = {k: max(items[k].last, read[key] + PLACES) for key, k in number.items() if key in read}
    if not until:
        return
    first = np.array([i.first for i in items])
    last = np.array([until.get(k, i.last) for k, i in enumerate(items)])
    low = np.array([packing.offsets[i.key] for i in items])
    high = low + np.array([i.size for i in items])
    moved = 0
    for s in sorted(until, key=lambda k: (items[k].last, items[k].key)):
        after = (first > lives[items[s].key].last) & (first <= last[s])
        for k in map(int, np.nonzero(after & (low < high[s]) & (high > low[s]))[0]):
            item = items[k]
            at = np.nonzero((first <= item.last) & (last >= item.first))[0]
            at = at[at != k]
            begin = lowest_gap(low[at], high[at], item.size) if at.size else 0
            if begin + item.size <= packing.height:
                low[k], high[k] = begin, begin + item.size
                packing.offsets[item.key] = begin
                moved += 1
    if moved:
        record("nc-allocate", "buffers beside those that transfers still read", moved)
