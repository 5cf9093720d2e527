"""Plan where a loop prefetches its weight stream.

The stream buffers of an iteration get fixed positions in a ring that is equal in every iteration.
Positions are chosen so that each buffer can be loaded as long before its first use as room permits.
A load is placed where its bytes become free, usually in the previous iteration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.listing import Buffer, Listing, Node
from neuronir.passes.nc.liveness import (
    clipped,
    deep_lifetimes,
    lifetimes,
    peak,
    rounded,
    stream_buffers,
)

LEAST_ROUNDS = 3
"""Loops with fewer iterations do not prefetch."""

_MARGIN = 0.06  # part of SBUF left for gaps between other buffers
_STEPS = 32  # granularity of the prefetch distances that are tried


@dataclass(slots=True)
class Load:
    """The position of a stream buffer in the ring, and the instruction before which it is loaded.

    With `ahead`, this is an instruction of the previous iteration.
    """

    key: int
    offset: int
    place: int
    ahead: bool


@dataclass(frozen=True, slots=True)
class Prefetch:
    """The loads of a loop that prefetches, by buffer key, and the rest of its body in order."""

    loads: list[Load]
    dma: Mapping[int, Node]
    rest: list[Node]


def plan_prefetch(
    listing: Listing, loop: Node, body: Sequence[Node], capacity: int
) -> Prefetch | None:
    """Return where a loop with this order of its body can prefetch its weights.

    Returns None if SBUF, with `capacity` bytes per partition, has no room for a ring.
    """
    buffers = listing.buffers
    if loop.trip_count < LEAST_ROUNDS or any(n.record is None for n in body):
        return None
    streams = stream_buffers(body, buffers)
    others = {k for k, b in enumerate(buffers) if b.role == "stream"}
    nodes = [replace(n, body=list(body)) if n is loop else n for n in listing.nodes]
    lives, length = deep_lifetimes(nodes, buffers)
    keys = [k for k in lives if k not in others and buffers[k].space == Space.SBUF]
    places = [n.place for n in body]
    during = clipped({k: lives[k] for k in keys}, min(places), max(places))
    room = capacity - peak(during, buffers, list(during), length)[0] - int(capacity * _MARGIN)
    dma = {k: body[p] for k, p in streams.items()}
    moved = {n.index for n in dma.values()}
    rest = [n for n in body if n.index not in moved]
    plan = _plan(rest, buffers, list(streams), room)
    return None if plan is None else Prefetch(plan, dma, rest)


def _plan(
    rest: Sequence[Node], buffers: Sequence[Buffer], keys: Sequence[int], room: int
) -> list[Load] | None:
    """Return the positions of the loads, each as early as SBUF has room for."""
    uses = lifetimes(rest, buffers)
    if any(k not in uses for k in keys):
        return None
    sequence = sorted(keys, key=lambda k: (uses[k].first, k))
    arcs = [_Arc(rounded(buffers[k].size), uses[k].first, uses[k].last) for k in sequence]
    length = len(rest)
    for step in range(_STEPS, -1, -1):
        lead = length * step // _STEPS
        offsets = _pack(arcs, lead, length)
        if max(o + a.size for o, a in zip(offsets, arcs, strict=True)) <= room:
            break
    else:
        return None
    places = _places(arcs, offsets, lead, length)
    return [
        Load(k, offset, place + length if place < 0 else place, place < 0)
        for k, offset, place in zip(sequence, offsets, places, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Arc:
    """A stream buffer: its bytes, and the positions of its first and last use in the iteration."""

    size: int
    first: int
    last: int

    def meets(self, other: "_Arc", lead: int, length: int) -> bool:
        """Return whether both are live at once in some iterations of `length` positions.

        Each is loaded `lead` positions before its first use.
        """
        if max(self.last - self.first, other.last - other.first) + lead >= length:
            return True
        return any(
            self.first - lead <= other.last + turn and other.first - lead + turn <= self.last
            for turn in (-length, 0, length)
        )


def _pack(arcs: Sequence[_Arc], lead: int, length: int) -> list[int]:
    """Return an offset for each buffer: the lowest that is free in all iterations."""
    offsets = [0] * len(arcs)
    placed: list[int] = []
    for i in sorted(range(len(arcs)), key=lambda i: (-arcs[i].size, i)):
        taken = sorted(
            (offsets[j], offsets[j] + arcs[j].size)
            for j in placed
            if arcs[i].meets(arcs[j], lead, length)
        )
        at = 0
        for begin, end in taken:
            if begin - at >= arcs[i].size:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append(i)
    return offsets


def _places(arcs: Sequence[_Arc], offsets: Sequence[int], lead: int, length: int) -> list[int]:
    """Return the instruction before which each load is placed; negative in the previous iteration.

    Loads are as early as their bytes are free, in the order of first uses.
    """
    places: list[int] = []
    for arc, offset in zip(arcs, offsets, strict=True):
        place = arc.last - length + 1
        for other, begin in zip(arcs, offsets, strict=True):
            if other is arc or begin >= offset + arc.size or offset >= begin + other.size:
                continue
            ends = (other.last + turn + 1 for turn in (-length, 0))
            place = max([place, *(e for e in ends if e <= max(arc.first - lead, 0))])
        places.append(place)
    before = max(places[-1] - length, -length)
    for i, place in enumerate(places):
        places[i] = before = max(place, before)
    return places
