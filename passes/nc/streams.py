"""Place the weight stream: each DMA as early as a ring in SBUF has room for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import fixed_in_ring, lifetimes, rounded, stream_buffers


@dataclass(slots=True)
class Ring:
    """The order with the placed stream, and the ring offset (bytes) of each buffer."""

    order: list[Node]
    offsets: dict[int, int]


@dataclass(slots=True)
class Slot:
    """The bytes of the ring that a buffer has from its first to its last use."""

    begin: int
    end: int
    first: int
    last: int
    key: int


def place_streams(
    order: Sequence[Node],
    buffers: Sequence[Buffer],
    capacity: int,
    keep: frozenset[int],
    taken: Sequence[Slot] = (),
) -> Ring | int:
    """Move the DMAs of stream buffers (except those in `keep`) to their earliest positions.

    The ring is filled in the order of first uses and wraps around; a buffer takes the bytes of
    others after their last use. Buffers of loops that prefetch have fixed positions, and bytes
    `taken` by other buffers for a time are left to them. If `capacity` bytes are too few, the
    result is the key of the buffer that is most in the way (the longest-lived one); the caller may
    place it elsewhere.
    """
    written = {k: p for k, p in stream_buffers(order, buffers).items() if k not in keep}
    moved = {order[place].index for place in written.values()}
    rest = [node for node in order if node.index not in moved]
    dma = {key: order[place] for key, place in written.items()}
    uses = lifetimes(rest, buffers)
    sequence = sorted((k for k in written if k in uses), key=lambda k: (uses[k].first, k))
    before: dict[int, list[Node]] = {}
    for key in written:
        if key not in uses:  # never read, but still needs an address
            return key
    fixed = {k: begin for k, (begin, _) in fixed_in_ring(buffers).items() if k not in keep}
    sequence += [k for k in fixed if k not in written]  # filled only inside a loop
    sequence.sort(key=lambda k: (uses[k].first, k))
    offsets: dict[int, int] = {}
    live: list[Slot] = []  # by address
    head = 0
    earliest = 0  # position in `rest` before which the next DMA may be placed
    for key in sequence:
        size = rounded(buffers[key].size)
        first, last = uses[key].first, uses[key].last
        busy = [*live, *(s for s in taken if s.first <= last)]
        if key in fixed:
            # the buffers of one loop rotate as planned there
            others = [s for s in busy if s.first != first]
            found = fixed_slot(others, fixed[key], size, capacity, first)
        else:
            found = next_slot(busy, head, size, capacity, first)
        if found is None:
            blockers = [(uses[key].last - first, key)]
            blockers += [(s.last - s.first, s.key) for s in live if s.last >= first]
            return max(b for b in blockers if b[1] in written or b[1] in fixed)[1]
        begin, after = found
        if key not in fixed:
            live = [s for s in live if s.end <= begin or s.begin >= begin + size]
        live.append(Slot(begin, begin + size, first, last, key))
        offsets[key] = begin
        head = begin + size
        if key in dma:
            earliest = max(earliest, after)
            before.setdefault(earliest, []).append(dma[key])
    out: list[Node] = []
    for place, node in enumerate(rest):
        out += before.get(place, ())
        out.append(node)
    return Ring(out, offsets)


def fixed_slot(
    live: Sequence[Slot], begin: int, size: int, capacity: int, first: int
) -> tuple[int, int] | None:
    """Return (address, position from which it is free) at a fixed address."""
    if begin + size > capacity:
        return None
    ends = [s.last + 1 for s in live if s.begin < begin + size and begin < s.end]
    after = max(ends, default=0)
    return (begin, after) if after <= first else None


def next_slot(
    live: Sequence[Slot], head: int, size: int, capacity: int, first: int
) -> tuple[int, int] | None:
    """Return (address, position from which it is free) of the next room from `head`, wrapping once.

    Live buffers may start, or be, below the ring.
    """
    if size > capacity:
        return None
    starts = [head] if head + size <= capacity else []
    starts += sorted(s.end for s in live if s.end > head and s.end + size <= capacity)
    starts += [0]
    starts += sorted(s.end for s in live if 0 < s.end <= head and s.end + size <= capacity)
    for begin in starts:
        after = 0
        for s in live:
            if s.begin < begin + size and begin < s.end:
                after = max(after, s.last + 1)
        if after <= first:
            return begin, after
    return None
