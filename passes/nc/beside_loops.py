"""Find room for inputs that are loaded after a loop, in bytes that are idle during the loop.

The only dependence of such a transfer is the buffer that it writes. If the preceding loop does not
use the bytes of the buffer, the transfer completes during the loop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Packing, liveness_bound, pack

_NEAR = 384
"""Transfers up to this many instructions after a loop may still wait for it."""

_STEADY = ("constant", "input")
"""Kinds of HBM variables whose contents never change."""

_SHARES = (1.0, 0.75, 0.5, 0.25)
"""The share of transfers after loops, in order of first use, that are placed together."""


@dataclass
class Loops:
    """How buffers relate to loops; positions count the instructions inside loops.

    `rounds` has, for each buffer that is allocated in a loop, the positions of the loop. `leads`
    has the first position of the loop for each on-chip buffer that one transfer near the end of the
    loop fills with constants or inputs, and that was not accessed before.
    """

    rounds: dict[int, Life] = field(default_factory=dict)
    leads: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(order: Sequence[Node], buffers: Sequence[Buffer]) -> "Loops":
        """Visit a block."""
        spans: dict[int, Life] = {}
        found = Loops()
        place, begin, near = 0, 0, 0
        seen: set[int] = set()

        def walk(nodes: Sequence[Node]) -> None:
            nonlocal place
            for node in nodes:
                if node.record is not None:
                    place += 1
                    continue
                first = place
                walk(node.body)
                spans[node.loop] = Life(first, max(place - 1, first))

        for node in order:
            if node.record is None:
                begin, near = place, _NEAR
            elif near:
                near -= 1
                found.leads.update((k, begin) for k in _loaded(node, buffers) if k not in seen)
            walk([node])
            seen.update(node.touched or (a.buffer for a in node.accesses))
        found.rounds.update((b.key, spans[b.loop]) for b in buffers if b.loop in spans)
        return found


def _loaded(node: Node, buffers: Sequence[Buffer]) -> list[int]:
    """Return the on-chip buffers that a node fills from constants or inputs."""
    if node.record is None or node.record.opcode != "dma":
        return []
    sources = [buffers[a.buffer] for a in node.accesses if not a.write]
    if not all(b.space == Space.HBM and b.role in _STEADY for b in sources):
        return []
    return [a.buffer for a in node.accesses if a.write and buffers[a.buffer].space == Space.SBUF]


def beside_loops(
    packing: Packing,
    items: Sequence[Item],
    lives: Mapping[int, Life],
    loops: Loops,
    limit: int,
) -> tuple[Packing, Sequence[Item], int]:
    """Pack into at most `limit` bytes so that buffers loaded after loops are reserved from loop
    start.

    Returns the packing, the items with these live ranges, and the number of such buffers. The
    result is the packing as it was, and 0, if nothing changes or nothing fits. If not all fit, the
    buffers that are loaded first are preferred. Buffers of loops are reserved for whole iterations,
    because the next iteration starts before the current one ends. Other buffers may be reserved for
    their `lives` only.
    """
    leads = loops.leads
    loads = sorted((i for i in items if i.key in leads), key=lambda i: (i.first, i.key))
    if all(_idle(i, leads[i.key], items, packing) for i in loads):
        return packing, items, 0
    for share in _SHARES:
        apart = {i.key for i in loads[: max(1, round(share * len(loads)))]}
        for kept in (True, False):
            longer = []
            for i in items:
                life = loops.rounds.get(i.key, lives[i.key])
                first = min(leads[i.key] if i.key in apart else i.first, life.first)
                last = max(i.last if kept else lives[i.key].last, life.last)
                longer.append(replace(i, first=first, last=last))
            if liveness_bound(longer) > limit:
                continue
            other = pack(longer, limit)
            if other.height <= limit:
                return other, longer, len(apart)
    return packing, items, 0


def _idle(item: Item, lead: int, items: Sequence[Item], packing: Packing) -> bool:
    """Return whether an item's bytes are free from position `lead` to its first use."""
    low = packing.offsets[item.key]
    return not any(
        lead <= other.last < item.first
        and packing.offsets[other.key] < low + item.size
        and low < packing.offsets[other.key] + other.size
        for other in items
    )
