"""Buffers beside those that transfers still read.

A transfer reads its buffer long after the instructions behind it in the order have begun: it takes
microseconds, of which they take tens of nanoseconds each. Who gets its bytes next waits for all of
it; where there is room elsewhere it goes there.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Packing, lowest_gap
from neuronir.passes.statistics import record

PLACES = 384
"""Places after a transfer for which its bytes are better left alone."""


def read_by_transfers(order: Sequence[Node], buffers: Sequence[Buffer]) -> dict[int, int]:
    """The buffers on the chip that transfers read, each with the place of the last one, where the
    insides of loops count as places of their own."""
    out: dict[int, int] = {}
    looked_up: set[int] = set()  # buffers of indices that one gather has read
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
                # gathers by the same indices follow each other; a single one is over soon
                out.update((k, places) for k in chosen if opcode == "dma" or k in looked_up)
                looked_up.update(chosen)
            places += 1

    walk(order)
    return out


def step_aside(
    packing: Packing, items: Sequence[Item], lives: Mapping[int, Life], read: Mapping[int, int]
) -> None:
    """Move items that take the bytes of others soon after these were `read` by a transfer, at the
    place given, to where no item is in their time; nothing reaches higher than before."""
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
