"""Placing the weight stream: each DMA as early as a ring in SBUF has room for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import lifetimes, rounded, stream_buffers


@dataclass(slots=True)
class Ring:
    """The order with the stream in its places, and where in the ring each buffer lies (bytes)."""

    order: list[Node]
    offsets: dict[int, int]


@dataclass(slots=True)
class _Slot:
    begin: int
    end: int
    first: int  # places of the first and the last use
    last: int
    key: int


def place_streams(
    order: Sequence[Node], buffers: Sequence[Buffer], capacity: int, keep: frozenset[int]
) -> Ring | int:
    """Move the DMAs of stream buffers (but for those in `keep`) to their earliest places.

    The ring is filled in the order of first uses and wraps around; a buffer takes the place of
    others after their last use. Where `capacity` bytes are too few, the key of the buffer that
    is most in the way (it lives longest): the caller may keep it out of the ring.
    """
    written = {k: p for k, p in stream_buffers(order, buffers).items() if k not in keep}
    moved = {order[place].index for place in written.values()}
    rest = [node for node in order if node.index not in moved]
    dma = {key: order[place] for key, place in written.items()}
    uses = lifetimes(rest, buffers)
    sequence = sorted((k for k in written if k in uses), key=lambda k: (uses[k].first, k))
    before: dict[int, list[Node]] = {}
    for key in written:
        if key not in uses:  # never read: it still has to be somewhere
            return key
    live: list[_Slot] = []  # by address
    offsets: dict[int, int] = {}
    head = 0
    earliest = 0  # place in `rest` before which the next DMA may stand
    for key in sequence:
        size = rounded(buffers[key].size)
        first = uses[key].first
        found = _slot(live, head, size, capacity, first)
        if found is None:
            blockers = [(uses[key].last - first, key)]
            blockers += [(s.last - s.first, s.key) for s in live if s.last >= first]
            return max(blockers)[1]
        begin, after = found
        earliest = max(earliest, after)
        live = [s for s in live if s.end <= begin or s.begin >= begin + size]
        live.append(_Slot(begin, begin + size, first, uses[key].last, key))
        offsets[key] = begin
        head = begin + size
        before.setdefault(earliest, []).append(dma[key])
    out: list[Node] = []
    for place, node in enumerate(rest):
        out += before.get(place, ())
        out.append(node)
    return Ring(out, offsets)


def _slot(
    live: Sequence[_Slot], head: int, size: int, capacity: int, first: int
) -> tuple[int, int] | None:
    """(address, place from which it is free) of the next room at or after `head`, around once."""
    if size > capacity:
        return None
    starts = [head] if head + size <= capacity else []
    starts += sorted(s.end for s in live if s.end > head and s.end + size <= capacity)
    starts += [0]
    starts += sorted(s.end for s in live if s.end <= head and s.end + size <= capacity)
    for begin in starts:
        after = 0
        for s in live:
            if s.begin < begin + size and begin < s.end:
                after = max(after, s.last + 1)
        if after <= first:
            return begin, after
    return None
