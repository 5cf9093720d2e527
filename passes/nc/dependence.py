"""Which instructions of a block must stay in order: nearest dependences through memory.

A memory is a map of intervals to what last touched them. An access splits the map at its ends and
meets only the entries of its own intervals; a write that covers an entry takes its place, so that
the map stays as small as what is live and the whole is near-linear in accesses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from itertools import chain

from neuronir.dialects.nc.footprint import shapes_meet, shapes_overlap
from neuronir.passes.nc.listing import Access, Bounds, Buffer, Node

Predecessors = list[dict[int, bool]]
"""By node: earlier nodes it must follow, and whether data flows from them (read after write)."""


Shared = dict[int, tuple[int, int]]
"""Loop symbols that an earlier and a later access have in common, and how far apart their values
may be: (0, 0) in one and the same round (see footprint.overlaps_for_some)."""


def conflict(a: Access, b: Access, bounds: Bounds, shared: Shared | None = None) -> bool:
    """Whether two accesses of one memory share a byte (whatever their direction)."""
    if a.high <= b.low or b.high <= a.low or a.stop <= b.start or b.stop <= a.start:
        return False
    if a.solid and b.solid:
        return True
    address_a, address_b = a.pattern.address, b.pattern.address
    if a.fixed and b.fixed:
        return shapes_overlap(a.shape, b.shape, address_b.const - address_a.const)
    return shapes_meet(a.shape, address_a, b.shape, address_b, bounds, shared)


def _covers(write: Access, entry: Access) -> bool:
    """Whether a write at a constant address leaves nothing of `entry` in an interval of both."""
    if write.start > entry.start or write.stop < entry.stop:
        return False
    if write.solid:
        return True
    same = entry.fixed and write.low == entry.low and write.high == entry.high
    return same and write.shape == entry.shape


class Memory:
    """The last writes and the reads since, by interval of addresses of one memory or buffer.

    `streams` are the in-order engines of the nodes (-1 for none): whoever waits for the later of
    two nodes on one has waited for the earlier, so of its reads of the same bytes the last is kept.
    """

    __slots__ = ("bounds", "starts", "writes", "reads", "streams", "shared", "_keys")

    def __init__(
        self,
        bounds: Bounds,
        streams: Sequence[int] | None = None,
        shared: Shared | None = None,
    ) -> None:
        self.bounds = bounds
        self.streams = streams
        self.shared = shared
        self.starts: list[int] = [-(1 << 62)]
        self.writes: list[list[Access]] = [[]]
        self.reads: list[dict[int, Access]] = [{}]
        self._keys: dict[Hashable, int] = {}

    def _split(self, at: int) -> int:
        """The number of the interval that starts at `at`, made where there is none."""
        i = bisect_left(self.starts, at)
        if i == len(self.starts) or self.starts[i] != at:
            self.starts.insert(i, at)
            self.writes.insert(i, list(self.writes[i - 1]))
            self.reads.insert(i, dict(self.reads[i - 1]))
        return i

    def meet(self, access: Access, found: dict[int, bool]) -> None:
        """Add to `found` what `access` must follow."""
        first = bisect_right(self.starts, access.low) - 1
        last = bisect_left(self.starts, access.high)
        seen: set[Access] = set()
        data = not access.write
        bounds, shared = self.bounds, self.shared
        for i in range(first, last):
            for entry in self.writes[i]:
                if entry in seen or entry.node == access.node:
                    continue
                seen.add(entry)
                if found.get(entry.node, False) or (not data and entry.node in found):
                    continue
                if conflict(entry, access, bounds, shared):
                    found[entry.node] = data
            if data:
                continue
            for entry in self.reads[i].values():
                if entry in seen or entry.node == access.node:
                    continue
                seen.add(entry)
                if entry.node not in found and conflict(entry, access, bounds, shared):
                    found[entry.node] = False

    def candidates(self, access: Access, least: int = -1) -> list[Access]:
        """The entries that `access` may have to follow, of nodes from `least` on; only their
        intervals are compared."""
        first = bisect_right(self.starts, access.low) - 1
        last = bisect_left(self.starts, access.high)
        if last - first == 1:
            out = list(self.writes[first])
            if access.write:
                out += self.reads[first].values()
        else:
            found = dict.fromkeys(chain.from_iterable(self.writes[first:last]))
            if access.write:
                for reads in self.reads[first:last]:
                    found.update(dict.fromkeys(reads.values()))
            out = list(found)
        return [e for e in out if e.node >= least] if least > 0 else out

    def note_again(self, access: Access) -> None:
        """Remember `access` in another round of its loop: the other one does not count any more."""
        if access.write and (access.partial or not access.fixed):  # others cover themselves
            for i in range(self._split(access.low), self._split(access.high)):
                if access in self.writes[i]:
                    self.writes[i].remove(access)
        self.note(access)

    def note(self, access: Access) -> None:
        """Remember `access`, which `meet` has seen."""
        first = self._split(access.low)
        last = self._split(access.high)
        if not access.write:
            key = self._key(access)
            for reads in self.reads[first:last]:
                reads.pop(key, None)  # to come last
                reads[key] = access
            return
        bare = not access.partial
        covering = access.fixed and bare
        for i in range(first, last):
            writes, reads = self.writes[i], self.reads[i]
            if covering and writes:
                self.writes[i] = writes = [e for e in writes if not _covers(access, e)]
            if covering and reads:
                reads = {k: e for k, e in reads.items() if not _covers(access, e)}
                self.reads[i] = reads
            bare = bare and not writes and not reads
            writes.append(access)
        if bare and last - first > 1:  # nothing but this write is left of many intervals
            del self.starts[first + 1 : last]
            del self.writes[first + 1 : last]
            del self.reads[first + 1 : last]

    def _key(self, access: Access) -> int:
        """A number that reads share where the later one stands for the earlier."""
        stream = -1 if self.streams is None else self.streams[access.node]
        if stream < 0 or not access.fixed:
            return ~id(access)
        shape = access.shape
        what = (stream, access.start, access.stop, access.low, shape.width, shape.dims)
        return self._keys.setdefault(what, len(self._keys))


def dependences(
    nodes: Sequence[Node],
    buffers: Sequence[Buffer],
    bounds: Bounds,
    *,
    placed: bool,
    streams: Sequence[int] | None = None,
    shared: Shared | None = None,
) -> Predecessors:
    """The nearest dependences among the nodes of one block in program order.

    `placed` says that accesses are by address: then buffers that share memory meet. `streams` has
    for each node the in-order engine that it runs on, or -1. `shared` are the loops around the
    block, in one round of which the dependences lie.
    """
    memories: dict[int, Memory] = {}
    last_write: dict[int, int] = {}
    for node in nodes:
        for access in node.accesses:
            if access.write:
                key = buffers[access.buffer].space if placed else access.buffer
                last_write[key] = node.index
    result: Predecessors = []
    barrier = -1
    for node in nodes:
        found: dict[int, bool] = {}
        result.append(found)
        if barrier >= 0:
            found[barrier] = False
        if node.record is not None and node.record.opcode == "barrier":
            for other in range(barrier + 1, node.index):
                found[other] = False
            barrier = node.index
            continue
        for access in node.accesses:
            key = buffers[access.buffer].space if placed else access.buffer
            if key not in last_write:
                continue  # nothing ever writes it
            memory = memories.get(key)
            if memory is None:
                memory = memories[key] = Memory(bounds, streams, shared)
            memory.meet(access, found)
        for access in node.accesses:
            key = buffers[access.buffer].space if placed else access.buffer
            # A read after the last write of all orders nothing any more.
            if key in memories and (access.write or node.index < last_write[key]):
                memories[key].note(access)
    return result
