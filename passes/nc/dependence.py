"""Find the nearest dependences through memory between the instructions of a block.

A memory maps intervals to their last accesses. An access splits the map at its ends and is compared
only with the entries of its own intervals. A write that covers an entry replaces it, so the map
stays as small as the live data, and the total time is near-linear in the number of accesses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain

from xdsl.ir import Operation

from neuronir.dialects.nc.footprint import Shape, shapes_meet, shapes_overlap
from neuronir.passes.nc.listing import Access, Bounds, Buffer, Node

Predecessors = list[dict[int, bool]]
"""By node: earlier nodes it must follow, and whether data flows from them (read after write)."""


Shared = dict[int, tuple[int, int]]
"""Loop symbols common to an earlier and a later access, with the range of their difference:

(0, 0) in the same iteration (see footprint.overlaps_for_some).
"""


def conflict(a: Access, b: Access, bounds: Bounds, shared: Shared | None = None) -> bool:
    """Return whether two accesses of one memory share a byte (reads or writes)."""
    if a.high <= b.low or b.high <= a.low or a.stop <= b.start or b.stop <= a.start:
        return False
    if a.solid and b.solid:
        return True
    address_a, address_b = a.pattern.address, b.pattern.address
    if a.fixed and b.fixed:
        return shapes_overlap(a.shape, b.shape, address_b.const - address_a.const)
    return shapes_meet(a.shape, address_a, b.shape, address_b, bounds, shared)


_Box = tuple[int, int, Shape]
"""Return the bytes of an access with a fixed address, ignoring partitions."""


def _box(access: Access) -> _Box:
    return access.low, access.high, access.shape


_SPANS = 8
"""Most parts in which a read with gaps is recorded. Longer ones count as read from end to end."""


def _spans(access: Access) -> Iterator[tuple[int, int]]:
    """Yield byte intervals, in order and disjoint, that together contain an access.

    Of few rows with large gaps in between, each row is one:

        4 bytes at 0 and at 6144        ->  (0, 4), (6144, 6148)    not (0, 6148)
    """
    low, high = access.low, access.high
    if access.fixed and access.shape.dims:
        stride, count = access.shape.dims[-1]
        row = high - low - stride * (count - 1)
        if count <= _SPANS and 0 < 2 * row <= stride:
            yield from ((low + stride * k, low + stride * k + row) for k in range(count))
            return
    yield low, high


def _within(write: Access, entry: Access) -> bool:
    """Return whether a write covers all partitions of `entry`."""
    return write.start <= entry.start and write.stop >= entry.stop


class _Interval:
    """The last writes of some bytes, and the reads since then, in order.

    A write with gaps replaces only writes of the same bytes. These are found by bounding box, in
    tables that are built on first use.
    """

    __slots__ = ("writes", "reads", "write_boxes", "read_boxes")

    def __init__(self) -> None:
        self.writes: dict[Access, None] = {}
        self.reads: dict[int, Access] = {}
        self.write_boxes: dict[_Box, list[Access]] | None = None
        self.read_boxes: dict[_Box, list[int]] | None = None

    def copy(self) -> "_Interval":
        """Return a copy with the same entries."""
        out = _Interval()
        out.writes, out.reads = dict(self.writes), dict(self.reads)
        return out

    def add_write(self, access: Access) -> None:
        """Add the latest write."""
        self.writes[access] = None
        if self.write_boxes is not None and access.fixed:
            self.write_boxes.setdefault(_box(access), []).append(access)

    def cover(self, write: Access) -> None:
        """Drop entries that a write at a fixed address covers completely."""
        if write.solid:
            if self.writes:
                self.writes = {e: None for e in self.writes if not _within(write, e)}
                self.write_boxes = None
            if self.reads:
                self.reads = {k: e for k, e in self.reads.items() if not _within(write, e)}
                self.read_boxes = None
            return
        box = _box(write)
        if self.writes:
            self._cover_writes(write, box)
        if self.reads:
            self._cover_reads(write, box)

    def _cover_writes(self, write: Access, box: _Box) -> None:
        if self.write_boxes is None:
            self.write_boxes = {}
            for entry in self.writes:
                if entry.fixed:
                    self.write_boxes.setdefault(_box(entry), []).append(entry)
        alike = self.write_boxes.get(box)
        if alike:
            for entry in alike:
                if _within(write, entry):
                    self.writes.pop(entry, None)
            self.write_boxes[box] = [e for e in alike if e in self.writes]

    def _cover_reads(self, write: Access, box: _Box) -> None:
        if self.read_boxes is None:
            self.read_boxes = {}
            for key, entry in self.reads.items():
                if entry.fixed:
                    self.read_boxes.setdefault(_box(entry), []).append(key)
        alike = self.read_boxes.pop(box, None)
        if alike:
            kept = []
            for key in dict.fromkeys(alike):
                read = self.reads.get(key)
                if read is None or _box(read) != box:
                    continue  # another one has replaced it
                if _within(write, read):
                    del self.reads[key]
                else:
                    kept.append(key)
            self.read_boxes[box] = kept


class Memory:
    """The last writes and the reads since then, by address interval of one memory or buffer.

    `streams` are the in-order engines of the nodes (-1 for none). Waiting for a node implies
    waiting for earlier nodes on the same engine, so only the last of its reads of the same bytes is
    kept.
    """

    __slots__ = ("bounds", "starts", "intervals", "streams", "shared", "_keys")

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
        self.intervals = [_Interval()]
        self._keys: dict[Hashable, int] = {}

    def _split(self, at: int) -> int:
        """Return the interval that starts at `at`, splitting if necessary."""
        i = bisect_left(self.starts, at)
        if i == len(self.starts) or self.starts[i] != at:
            self.starts.insert(i, at)
            self.intervals.insert(i, self.intervals[i - 1].copy())
        return i

    def _touched(self, access: Access) -> list[_Interval]:
        starts = self.starts
        if not access.shape.dims:  # one span
            first = bisect_right(starts, access.low) - 1
            return self.intervals[first : bisect_left(starts, access.high)]
        out: list[_Interval] = []
        for low, high in _spans(access):
            first = bisect_right(starts, low) - 1
            out += self._hit(access, first, bisect_left(starts, high))
        return out

    def _hit(self, access: Access, first: int, last: int) -> Sequence[_Interval]:
        """Return the intervals of a range, without those between rows of an access with gaps.

        Columns of an image that are written one by one split its first row into many intervals, of
        which each column has bytes in one.
        """
        if last - first <= _SPANS or not access.fixed or not access.shape.dims:
            return self.intervals[first:last]
        low, (stride, count) = access.low, access.shape.dims[-1]
        row = access.high - low - stride * (count - 1)
        starts, out = self.starts, []
        for i in range(first, last):
            end = starts[i + 1] if i + 1 < len(starts) else access.high
            latest = min(count - 1, (end - 1 - low) // stride)
            if low + stride * latest + row > starts[i]:
                out.append(self.intervals[i])
        return out

    def meet(self, access: Access, found: dict[int, bool]) -> None:
        """Add to `found` the nodes that `access` must follow.

        Of those on one in-order engine this is at least the latest.
        """
        seen: set[Access] = set()
        data = not access.write
        bounds, shared, streams = self.bounds, self.shared, self.streams
        latest: dict[int, int] = {}  # by in-order engine
        for interval in self._touched(access):
            entries: Iterable[Access] = reversed(interval.writes)
            if not data:
                entries = chain(reversed(interval.reads.values()), entries)
            for entry in entries:
                node = entry.node
                if entry in seen or node == access.node:
                    continue
                seen.add(entry)
                if found.get(node, False) or (not data and node in found):
                    continue
                stream = -1 if streams is None else streams[node]
                if node < latest.get(stream, -1):
                    continue
                if conflict(entry, access, bounds, shared):
                    found[node] = data
                    if stream >= 0:
                        latest[stream] = node

    def candidates(self, access: Access, least: int = -1) -> list[Access]:
        """Return the entries that `access` may have to follow, from node `least` on, by interval
        only.
        """
        touched = self._touched(access)
        if len(touched) == 1:
            out = list(touched[0].writes)
            if access.write:
                out += touched[0].reads.values()
        else:
            found = dict.fromkeys(chain.from_iterable(t.writes for t in touched))
            if access.write:
                for interval in touched:
                    found.update(dict.fromkeys(interval.reads.values()))
            out = list(found)
        return [e for e in out if e.node >= least] if least > 0 else out

    def note_again(self, access: Access) -> None:
        """Record `access` of another iteration of its loop; the other iteration is dropped."""
        if access.write and (access.partial or not access.fixed):  # others cover themselves
            for i in range(self._split(access.low), self._split(access.high)):
                self.intervals[i].writes.pop(access, None)
        self.note(access)

    def note(self, access: Access) -> None:
        """Record `access`, for which `meet` was called."""
        if not access.write:
            self._note_read(access)
            return
        first = self._split(access.low)
        last = self._split(access.high)
        bare = not access.partial
        covering = access.fixed and bare
        hit = self._hit(access, first, last)
        if covering:
            for interval in hit:
                interval.cover(access)
        bare = bare and not any(i.writes or i.reads for i in self.intervals[first:last])
        for interval in hit:
            interval.add_write(access)
        if bare and last - first > 1:  # this write replaces everything in many intervals
            del self.starts[first + 1 : last]
            del self.intervals[first + 1 : last]

    def _note_read(self, access: Access) -> None:
        key = self._key(access)
        fixed = access.fixed
        for low, high in _spans(access):
            first = self._split(low)
            for interval in self.intervals[first : self._split(high)]:
                reads = interval.reads
                reads.pop(key, None)  # the latest is the last one
                reads[key] = access
                if fixed and interval.read_boxes is not None:
                    interval.read_boxes.setdefault(_box(access), []).append(key)

    def _key(self, access: Access) -> int:
        """Return a key shared by reads of which the latest one implies the others."""
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
    """Return the nearest dependences among the nodes of one block in program order.

    `placed` means that accesses have addresses: buffers that share memory then overlap. `streams`
    is the in-order engine of each node, or -1. `shared` are the loops around the block; the
    dependences are within one iteration of them.
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
            # A read after the last write orders nothing.
            if key in memories and (access.write or node.index < last_write[key]):
                memories[key].note(access)
    for user, load in register_uses(nodes):
        result[user.index][load.index] = True
    return result


def register_uses(nodes: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """Yield each instruction, or loop around it, that reads a register, with the register's load.

    Both are among `nodes`.
    """
    loads = [n for n in nodes if n.record is not None and n.record.opcode == "register_load"]
    if not loads:
        return
    places: dict[Operation, Node] = {node.op: node for node in nodes}
    for load in loads:
        for use in load.op.results[0].uses:
            user: Operation | None = use.operation
            while user is not None and user not in places:
                user = user.parent_op()
            if user is not None:
                yield places[user], load
