"""Which instructions of a block must stay in order: nearest dependences through memory.

A memory is a map of intervals to what last touched them. An access splits the map at its ends and
meets only the entries of its own intervals; a write that covers an entry takes its place, so that
the map stays as small as what is live and the whole is near-linear in accesses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence

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


def covers(a: Access, b: Access) -> bool:
    """Whether every byte of `b` is one of `a`, for certain."""
    if a.start > b.start or a.stop < b.stop or not (a.fixed and b.fixed):
        return False
    if a.solid:
        return a.low <= b.low and b.high <= a.high
    return a.shape == b.shape and a.pattern.address == b.pattern.address


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
        seen: set[int] = set()
        data = not access.write
        bounds, shared = self.bounds, self.shared
        for i in range(first, last):
            for entry in self.writes[i]:
                if id(entry) in seen or entry.node == access.node:
                    continue
                seen.add(id(entry))
                if found.get(entry.node, False) or (not data and entry.node in found):
                    continue
                if conflict(entry, access, bounds, shared):
                    found[entry.node] = data
            if data:
                continue
            for entry in self.reads[i].values():
                if id(entry) in seen or entry.node == access.node:
                    continue
                seen.add(id(entry))
                if entry.node not in found and conflict(entry, access, bounds, shared):
                    found[entry.node] = False

    def candidates(self, access: Access) -> list[Access]:
        """The entries that `access` may have to follow; only their intervals are compared."""
        first = bisect_right(self.starts, access.low) - 1
        last = bisect_left(self.starts, access.high)
        out: dict[int, Access] = {}
        for i in range(first, last):
            for entry in self.writes[i]:
                out[id(entry)] = entry
        if access.write:
            for i in range(first, last):
                for entry in self.reads[i].values():
                    out[id(entry)] = entry
        return list(out.values())

    def note_again(self, access: Access) -> None:
        """Remember `access` in another round of its loop: the other one does not count any more."""
        first = self._split(access.low)
        last = self._split(access.high)
        key = self._key(access)
        for i in range(first, last):
            if access.write:
                self.writes[i] = [e for e in self.writes[i] if e is not access]
            elif self.reads[i].get(key) is access:
                del self.reads[i][key]
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
        if access.partial:
            for i in range(first, last):
                self.writes[i].append(access)
            return
        bare = True
        for i in range(first, last):
            if access.solid:
                start, stop = access.start, access.stop
                writes = [e for e in self.writes[i] if e.start < start or e.stop > stop]
                reads = {k: e for k, e in self.reads[i].items() if e.start < start or e.stop > stop}
            else:
                writes = [e for e in self.writes[i] if not covers(access, e)]
                reads = {k: e for k, e in self.reads[i].items() if not covers(access, e)}
            bare = bare and not writes and not reads
            writes.append(access)
            self.writes[i], self.reads[i] = writes, reads
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
