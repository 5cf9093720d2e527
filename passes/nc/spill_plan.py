"""What to spill: Belady's rule, the buffer with the furthest next use goes first."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import rounded

# A reload is put this many places before the first use, so that it is there in time.
_AHEAD = 12


class _Extent(NamedTuple):
    """What all writes up to a place span, and their bytes; of a write whose place depends on a
    loop's round, all that it spans."""

    place: int
    low: int
    high: int
    stop: int
    written: int


@dataclass(slots=True)
class Use:
    """How a buffer is used: places, and those among them where it is written."""

    places: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    extents: list[_Extent] = field(default_factory=list)
    """What the writes up to each place span."""

    def note(self, place: int, low: int, high: int, stop: int, written: int) -> None:
        """A write of so many bytes between `low` and `high` of the partitions up to `stop`."""
        if self.extents:
            last = self.extents[-1]
            low, high, stop = min(low, last.low), max(high, last.high), max(stop, last.stop)
            written += last.written
        self.extents.append(_Extent(place, low, high, stop, written))

    def whole(self, place: int) -> bool:
        """False where the writes up to `place` leave gaps, which a store of the whole would
        read."""
        at = bisect_right(self.extents, place, key=lambda e: e.place)
        if not at:
            return False
        done = self.extents[at - 1]
        return done.written >= (done.high - done.low) * done.stop

    def written_before(self, place: int) -> tuple[int, int, int]:
        """The low byte, high byte and partitions that writes before `place` span."""
        done = self.extents[bisect_left(self.extents, place, key=lambda e: e.place) - 1]
        return done.low, done.high, done.stop

    def next_after(self, place: int) -> int:
        """The place of the next use; a large number where there is none."""
        return next((p for p in self.places if p > place), 1 << 62)


def reload_place(begin: int, use: Use, taken: list[int], buffer: Buffer, capacity: int) -> int:
    """Where the reload before the use at `begin` goes: some places earlier where there is room."""
    size = rounded(buffer.size)
    before = max(p for p in use.places if p < begin)
    place = begin
    while place - 1 > before and begin - place < _AHEAD and taken[place - 1] + size <= capacity:
        place -= 1
        taken[place] += size
    return place


def uses_of(order: Sequence[Node], buffers: Sequence[Buffer], streams: set[int]) -> dict[int, Use]:
    """How the SBUF buffers but for `streams` are used, by key."""
    uses: dict[int, Use] = {}
    for place, node in enumerate(order):
        for access in node.accesses:
            key = access.buffer
            if buffers[key].space != Space.SBUF or key in streams:
                continue
            use = uses.setdefault(key, Use())
            if not use.places or use.places[-1] != place:
                use.places.append(place)
            if access.write:
                if not use.writes or use.writes[-1] != place:
                    use.writes.append(place)
                spanned = (access.high - access.low) * (access.stop - access.start)
                written = access.pattern.bytes if access.fixed else spanned
                use.note(place, access.low, access.high, access.stop, written)
    return uses


def evictions(
    order: Sequence[Node], buffers: Sequence[Buffer], uses: dict[int, Use], capacity: int
) -> tuple[dict[int, list[int]], list[int]]:
    """By buffer, the places of uses before which it has to be loaded again; and bytes by place."""
    taken: list[int] = []
    resident: dict[int, int] = {}  # key -> next use
    total = 0
    cuts: dict[int, list[int]] = {}
    local = {k for k in uses if isinstance(buffers[k].op, AllocOp)}
    for place, node in enumerate(order):
        keys = {a.buffer for a in node.accesses if a.buffer in uses}
        for key in [k for k, following in resident.items() if following == 1 << 62]:
            total -= rounded(buffers[key].size)
            del resident[key]
        for key in sorted(keys):
            if key not in resident:
                total += rounded(buffers[key].size)
                if uses[key].places[0] != place:
                    cuts.setdefault(key, []).append(place)
            resident[key] = uses[key].next_after(place)
        while total > capacity:
            others = [k for k in resident if k not in keys and k in local]
            others.sort(key=lambda k: (-resident[k], -buffers[k].size, k))
            victim = next((k for k in others if uses[k].whole(place)), None)
            if victim is None:
                break
            total -= rounded(buffers[victim].size)
            del resident[victim]
        taken.append(total)
    return cuts, taken
