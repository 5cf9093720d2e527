"""Place early buffers in the ring of the weight stream.

The first layers of a network have large activations and few weights, the last layers the reverse.
Buffers that die early may use bytes of the ring, which the stream gets afterwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.list_schedule import work_of
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, pack
from neuronir.passes.nc.streams import Slot

SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""The fraction of a program in which a buffer must die to be early."""


@dataclass(frozen=True)
class Layout:
    """The offsets of buffers. Early buffers may be in the ring, which starts at `base`."""

    offsets: dict[int, int]
    base: int
    taken: list[Slot]


def early_layouts(
    items: Sequence[Item], uses: dict[int, Life], length: int, capacity: int
) -> Iterator[Layout]:
    """Return ways to place the items for several definitions of early.

    Lasting buffers are at the bottom, the ring is above them, and early buffers are in both. `uses`
    has the positions at which the stream is counted.
    """
    for share in SHARES:
        lasting = [i for i in items if i.last > share * length]
        early = [i for i in items if i.last <= share * length]
        below = pack(lasting, 0)
        placed = [(i, below.offsets[i.key]) for i in lasting]
        above = pack(early, 0, placed=placed)
        if not early or max(below.height, above.height) > capacity:
            continue
        taken = []
        for item in early:
            begin, life = above.offsets[item.key] - below.height, uses[item.key]
            if begin + item.size > 0:
                taken.append(Slot(begin, begin + item.size, life.first, life.last, item.key))
        yield Layout({**below.offsets, **above.offsets}, below.height, taken)


def estimate_ns(
    order: Sequence[Node], buffers: Sequence[Buffer], ringed: set[int], machine: Machine
) -> float:
    """Estimate the time of an order in which only the stream and PE take time.

    A transfer starts when PE reaches its position, and PE waits for the data that it reads.
    """
    clock = stream = 0.0
    arrived: dict[int, float] = {}
    for node in order:
        record = node.record
        if record is None:
            continue
        filled = [a.buffer for a in node.accesses if a.write and a.buffer in ringed]
        if filled:
            work = work_of(record, machine)
            stream = max(stream, clock) + work.dma
            arrived[filled[0]] = stream + machine.dma_fixed_ns
        elif record.engine == Engine.PE:
            due = [arrived.get(a.buffer, 0.0) for a in node.accesses if not a.write]
            clock = max([clock, *due]) + work_of(record, machine).issue
    return max(clock, stream)
