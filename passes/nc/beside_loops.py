"""Buffers that transfers fill with inputs behind a loop, in bytes that are idle while it runs.

Such a transfer waits for nothing but its bytes. Where the loop before does not use them, it is over
when the loop is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import Life
from neuronir.passes.nc.pack import Item, Packing, liveness_bound, pack

_NEAR = 384
"""So many instructions after a loop its end is near: transfers among them may still wait for it."""

_STEADY = ("constant", "input")
"""Roles of variables of HBM that hold what they hold from the start."""

_SHARES = (1.0, 0.75, 0.5, 0.25)
"""Of the transfers behind loops, those of first need, for which room is looked for together."""


@dataclass
class Loops:
    """What buffers have to do with loops, where the insides of loops count as places of their own.

    `rounds`: for each buffer that is allocated in a loop, the places of the loop. `leads`: for each
    buffer on the chip that one transfer near the end of a loop fills with constants or inputs, and
    that nothing has touched before, the first place of the loop.
    """

    rounds: dict[int, Life] = field(default_factory=dict)
    leads: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def of(order: Sequence[Node], buffers: Sequence[Buffer]) -> "Loops":
        """Look through a block."""
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
    """The buffers on the chip that a node fills from constants or inputs."""
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
    """A packing of at most `limit` bytes in which buffers that are loaded behind loops have theirs
    from the beginning of the loop on, the items with these lifetimes, and how many buffers that
    are; as it was, and none, where that changes nothing or nothing fits.

    Where not all fit, those that are loaded first do. Buffers of loops keep their bytes for whole
    rounds, as the next one begins before this one ends; the others may be kept for no longer than
    their `lives`.
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
    """Whether nobody uses an item's bytes between the place `lead` and its first."""
    low = packing.offsets[item.key]
    return not any(
        lead <= other.last < item.first
        and packing.offsets[other.key] < low + item.size
        and low < packing.offsets[other.key] + other.size
        for other in items
    )
