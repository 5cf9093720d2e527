"""Place the SBUF buffers: pack them by live range, and use the rest as the ring."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.allocate_report import report_packing, report_ring
from neuronir.passes.nc.aside import read_by_transfers, step_aside
from neuronir.passes.nc.beside_loops import Loops, beside_loops
from neuronir.passes.nc.early import early_layouts, estimate_ns
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import (
    Life,
    deep_lifetimes,
    fixed_in_ring,
    lifetimes,
    peak,
    rounded,
    stream_buffers,
)
from neuronir.passes.nc.memory_map import out_of_memory
from neuronir.passes.nc.pack import Item, Packing, Work, liveness_bound, pack
from neuronir.passes.nc.streams import Slot, place_streams
from neuronir.passes.statistics import record, unrecorded

# If there is room, a buffer is kept this many positions after its last use, so that the next user
# of its bytes need not wait for the end of that use.
_SLACKS = (96, 48, 24, 12, 6, 3, 0)

# The same if early buffers share the ring.
_EARLY_SLACK = 24

# Buffers take too much of the ring if they exceed this fraction of it.
_HIGH = 4

# The search effort to find out whether buffers can be packed.
_SHORT = 1_000_000

# Limit of stream buffers that are removed from the ring one by one; beyond it there is no ring.
_OUTSIDE_RING = 8


@dataclass(frozen=True)
class Room:
    """Limits of a placement.

    These are the bytes of each partition for SBUF and at most for the ring of the weight stream (0:
    all that is left), the search effort, and whether loads after a loop get bytes that the loop
    does not use (nc-allocate). With `quick`, the packing is greedy and stops at the first fit.
    """

    capacity: int
    ring: int = 0
    search: int = 0
    loops: bool = True
    quick: bool = False


Placed = tuple[list[Node], dict[int, int]]
"""The order with the placed weight stream, and the address of each buffer by key."""


class SbufFull(Exception):
    """Raised if the buffers do not fit; `error` is the message if nothing else helps."""

    def __init__(self, error: NeuronError) -> None:
        super().__init__(error.message)
        self.error = error


def place_sbuf(
    order: Sequence[Node], buffers: Sequence[Buffer], room: Room, machine: Machine
) -> Placed:
    """Return addresses of the SBUF buffers, with the stream in a ring above the others.

    Early buffers may share the ring. Stream buffers that do not fit in any ring are allocated like
    others, at their position in the order. Raises SbufFull if there is no placement.
    """
    found = _place(order, buffers, room, machine)
    if found is None:  # the placement found by `too_full`
        found = _place(order, buffers, replace(room, quick=True), machine)
    if found is None:
        raise SbufFull(_out_of_memory(order, buffers, room))
    return found


def too_full(
    order: Sequence[Node], buffers: Sequence[Buffer], room: Room, machine: Machine
) -> NeuronError | None:
    """Return the error of a program whose buffers place_sbuf cannot place; None if it can."""
    with unrecorded():
        for tried in (replace(room, quick=True), room):
            if _place(order, buffers, tried, machine) is not None:
                return None
        return _out_of_memory(order, buffers, room)


def can_pack(
    lives: dict[int, Life], buffers: Sequence[Buffer], keys: Sequence[int], capacity: int
) -> bool:
    """Return whether a short search finds a packing of buffers in `capacity` bytes."""
    end = max((life.last for life in lives.values()), default=0)
    items = _items(lives, buffers, keys, 0, end)
    return pack(items, capacity, work=Work(_SHORT)).height <= capacity


def _out_of_memory(order: Sequence[Node], buffers: Sequence[Buffer], room: Room) -> NeuronError:
    lives, length = deep_lifetimes(order, buffers)
    keys = [k for k in lives if buffers[k].space == Space.SBUF]
    required, place = peak(lives, buffers, keys, length)
    packing = pack(_items(lives, buffers, keys, 0, length), room.capacity)
    needed = max(required, packing.height)
    return out_of_memory(Space.SBUF, needed, room.capacity, place, order, buffers, lives)


def _place(
    order: Sequence[Node], buffers: Sequence[Buffer], room: Room, machine: Machine
) -> Placed | None:
    streams = stream_buffers(order, buffers)
    fixed = fixed_in_ring(buffers)
    kept: set[int] = set()
    work = Work(room.search)
    while True:
        ring = _with_ring(order, buffers, room, work, streams, frozenset(kept), machine)
        if isinstance(ring, tuple):
            return ring
        if ring < 0 and kept >= {*streams, *fixed}:
            return None
        kept.update([*streams, *fixed] if ring < 0 or len(kept) >= _OUTSIDE_RING else [ring])


def _with_ring(
    order: Sequence[Node],
    buffers: Sequence[Buffer],
    room: Room,
    work: Work,
    streams: dict[int, int],
    kept: frozenset[int],
    machine: Machine,
) -> Placed | int:
    """Allocate with all stream buffers except `kept` in a ring.

    If there is no placement, return the key of the stream buffer that is most in the way, or -1.
    """
    capacity = room.capacity
    ringed = {k: p for k, p in streams.items() if k not in kept}
    moved = {order[p].index for p in ringed.values()}
    rest = [n for n in order if n.index not in moved]
    lives, length = deep_lifetimes(rest, buffers)
    fixed = {k: end for k, (_, end) in fixed_in_ring(buffers).items() if k not in kept}
    keys = [
        k for k in lives if buffers[k].space == Space.SBUF and k not in ringed and k not in fixed
    ]
    total = sum(rounded(buffers[k].size) for k in ringed)
    wanted = max([min(total, capacity // 2), *fixed.values()])
    end = max((lives[k].last for k in fixed), default=length)
    keys, late = _before_and_after(lives, keys, end)
    packed = _packed(lives, buffers, keys, room, capacity - wanted, work, length)
    if packed is None:
        return -1
    packing, items = packed
    beside = 0

    def otherwise(in_the_way: int) -> Placed | int:
        """If buffers next to those of loops leave no room for the others, retry without them."""
        if not beside:
            return in_the_way
        closer = replace(room, loops=False)
        return _with_ring(order, buffers, closer, work, streams, kept, machine)

    if not room.quick:
        if room.loops:
            limit = packing.height if ringed or fixed else capacity
            loops = Loops.of(rest, buffers)
            packing, items, beside = beside_loops(packing, items, lives, loops, limit)
        step_aside(packing, items, lives, read_by_transfers(rest, buffers))
    after: list[Slot] = []
    if late:
        kept_free = sum(sorted((rounded(buffers[k].size) for k in ringed), reverse=True)[:2])
        placed = [(i, packing.offsets[i.key]) for i in items if i.last > end]
        others = pack(_items(lives, buffers, late, 0, length), 0, placed=placed)
        if others.height + kept_free > capacity:
            return otherwise(-1)
        packing.offsets.update(others.offsets)
        after = _slots(others, packing.height, buffers, lifetimes(rest, buffers))
    least = liveness_bound(_items(lives, buffers, keys, 0, length))
    apart = sum(i.size for i in items)
    if not ringed and not fixed:
        report_packing(packing, least, apart, beside)
        return list(order), packing.offsets
    most = max([room.ring or capacity, *fixed.values()])
    ring = place_streams(order, buffers, min(capacity - packing.height, most), kept, after)
    if isinstance(ring, int):
        return otherwise(ring)
    base, offsets = packing.height, packing.offsets
    straight = not fixed and all(n.record is not None for n in rest)
    if straight and not room.quick and total > capacity - base and base * _HIGH > capacity:
        items = _items(lives, buffers, keys, _EARLY_SLACK, length)
        best = estimate_ns(ring.order, buffers, {*ringed}, machine)
        for layout in early_layouts(items, lives, length, capacity):
            there = min(capacity - layout.base, most)
            other = place_streams(order, buffers, there, kept, layout.taken)
            if isinstance(other, int):
                continue
            time = estimate_ns(other.order, buffers, {*ringed}, machine)
            if time < best:
                best, ring, base, offsets = time, other, layout.base, layout.offsets
    report_packing(packing, least, apart, beside)
    record("nc-allocate", "ring bytes per partition", min(total, capacity - base, most))
    report_ring(ring.order, buffers, ringed, machine)
    return ring.order, {**offsets, **{k: base + o for k, o in ring.offsets.items()}}


def _before_and_after(
    lives: dict[int, Life], keys: Sequence[int], end: int
) -> tuple[list[int], list[int]]:
    """Split buffers by whether they live only after the loops that use the ring.

    The ring is free after these loops, so such buffers may share it.
    """
    return [k for k in keys if lives[k].first <= end], [k for k in keys if lives[k].first > end]


def _packed(
    lives: dict[int, Life],
    buffers: Sequence[Buffer],
    keys: Sequence[int],
    room: Room,
    wanted: int,
    work: Work,
    length: int,
) -> tuple[Packing, Sequence[Item]] | None:
    """Pack the buffers with the largest slack for which they take at most `wanted`.

    Falls back to no slack; returns None if they do not fit at all.
    """
    for slack in (0,) if room.quick else _SLACKS:
        items = _items(lives, buffers, keys, slack, length)
        bound = peak({i.key: Life(i.first, i.last) for i in items}, buffers, keys, length)[0]
        if bound > wanted and slack:
            continue
        packing = pack(items, max(bound, wanted), work=None if slack or room.quick else work)
        if packing.height <= wanted or not slack:
            return (packing, items) if packing.height <= room.capacity else None
    return None


def _slots(
    packing: Packing, base: int, buffers: Sequence[Buffer], uses: dict[int, Life]
) -> list[Slot]:
    """Return the bytes of the ring, which starts at `base`, that buffers take, and when."""
    out = []
    for k, offset in packing.offsets.items():
        begin = offset - base
        size = rounded(buffers[k].size)
        out.append(Slot(begin, begin + size, uses[k].first, uses[k].last, k))
    return out


def _items(
    lives: dict[int, Life], buffers: Sequence[Buffer], keys: Sequence[int], slack: int, end: int
) -> list[Item]:
    return [
        Item(k, rounded(buffers[k].size), lives[k].first, min(lives[k].last + slack, end))
        for k in keys
    ]
