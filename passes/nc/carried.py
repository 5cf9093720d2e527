"""Find dependences between instructions at any depth of a function, with iteration distances.

The function is visited in program order, and each loop body twice. The second visit represents a
later iteration and finds the loop-carried dependences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.footprint import shapes_meet
from neuronir.passes.nc.dependence import Memory, Shared, conflict, register_uses
from neuronir.passes.nc.listing import LOOP, Access, Listing, Node

# Distances are searched one by one up to here; larger distances count as this one.
_FARTHEST = 8
_ALL = 1 << 62  # a position after all others


@dataclass(frozen=True, slots=True)
class Dependence:
    """The instruction must follow instruction `before`.

    `before` is meant in the iteration of loop `loop` that is `distance` before the current one.
    With distance 0 it is in the same iteration of all common loops (and in the last iteration of
    loops around `before` alone).
    """

    before: int
    loop: int
    distance: int
    data: bool


class Analysis:
    """The dependences of a function, by position of the later instruction.

    `places` is the number of instructions. `streams` is the in-order engine of each instruction (-1
    for none). With `streams`, implied dependences are omitted: those on the same engine; all but
    the last on another engine; and those on an earlier iteration of an engine or transfer on which
    the instruction depends in its own iteration.
    """

    def __init__(self, listing: Listing, places: int, streams: Sequence[int] | None = None) -> None:
        self.listing = listing
        self.needed = streams is not None
        self.streams = [-1] * places if streams is None else streams
        self.memories: dict[int, Memory] = {}
        self.found: list[dict[tuple[int, int], Dependence]] = [{} for _ in range(places)]
        # By position and engine, the last dependence in the same iteration.
        self.last: list[dict[int, int]] = [{} for _ in range(places)]
        self.nodes: dict[int, Node] = {}  # by position
        self.accesses: list[list[Access]] = [[] for _ in range(places)]

    def run(self) -> list[list[Dependence]]:
        """Visit the function."""
        self._block(self.listing.nodes, 0)
        return [list(found.values()) for found in self.found]

    def run_loop(self, loop: Node) -> list[dict[tuple[int, int], Dependence]]:
        """Visit the iterations of one loop alone and return the dependences of its instructions.

        They are keyed by position, and by (instruction, loop). Instructions of nested loops do not
        have those on registers of the loop around.
        """
        self.memories = {}
        first = loop.body[0].place
        self._block(loop.body, first)
        self._carried(loop.body, loop.loop, first)
        for user, load in register_uses([n for n in loop.body if n.record is not None]):
            known = Dependence(load.place, loop.loop, 0, True)
            self.found[user.place][(load.place, -1)] = known
        return self.found

    def _block(self, nodes: Sequence[Node], place: int) -> int:
        """Visit a block whose first instruction is at `place`; return the position after the
        last.
        """
        for node in nodes:
            if node.record is None:
                first = place
                place = self._block(node.body, first)
                self._carried(node.body, node.loop, first)
                continue
            place = node.place
            own = self.streams[place]
            self.nodes[place] = node
            self.last[place] = {own: _ALL} if own >= 0 else {}
            accesses = self.accesses[place] = self._of(node)
            memories = [self._memory(access) for access in accesses]
            for access, memory in zip(accesses, memories, strict=True):
                self._meet(access, memory)
            for access, memory in zip(accesses, memories, strict=True):
                memory.note(access)
            place += 1
        return place

    def _of(self, node: Node) -> list[Access]:
        """Return the accesses of an instruction.

        If it both writes and reads an access, the write represents both, unless data flow matters.
        """
        place = node.place
        if not self.needed:
            return [access.of(place) for access in node.accesses]
        written = [id(access.pattern) for access in node.accesses if access.write]
        return [
            access.of(place)
            for access in node.accesses
            if access.write or id(access.pattern) not in written
        ]

    def _carried(self, nodes: Sequence[Node], loop: int, first: int) -> None:
        """Find the instructions of earlier iterations that the instructions of a loop, the first at
        `first`, must follow.
        """
        for node in nodes:
            if node.record is None:
                self._carried(node.body, loop, first)
                continue
            accesses = self.accesses[node.place]
            memories = [self._memory(access) for access in accesses]
            around = node.inside[: node.inside.index(loop)]
            last = {e: _ALL for e, place in self.last[node.place].items() if place >= first}
            for access, memory in zip(accesses, memories, strict=True):
                if not self._fresh(access, around, loop):
                    self._meet_earlier(access, memory, loop, first, around, last)
            for access, memory in zip(accesses, memories, strict=True):
                memory.note_again(access)

    def _fresh(self, access: Access, around: tuple[int, ...], loop: int) -> bool:
        """Return whether each iteration of `loop` has its own buffer (none has an address yet)."""
        owner = self.listing.buffers[access.buffer].loop
        return not self.listing.placed and owner >= 0 and owner not in around

    def _memory(self, access: Access) -> Memory:
        listing = self.listing
        key = access.buffer
        if listing.placed:
            key = int(listing.buffers[key].space)
        memory = self.memories.get(key)
        if memory is None:
            memory = self.memories[key] = Memory(listing.bounds, self.streams)
        return memory

    def _meet(self, access: Access, memory: Memory) -> None:
        """Record the dependences of `access` in its own iteration."""
        after = access.node
        found, last = self.found[after], self.last[after]
        low, high, start, stop = access.low, access.high, access.start, access.stop
        for entry in reversed(memory.candidates(access)):
            if entry.high <= low or high <= entry.low or entry.stop <= start or stop <= entry.start:
                continue
            before = entry.node
            stream = self.streams[before]
            if before == after or (stream >= 0 and last.get(stream, -1) >= before):
                continue
            data = entry.write and not access.write
            known = found.get((before, -1))
            if known is not None and (known.data or not data):
                continue
            common = self._common(before, after)
            shared: Shared = {LOOP + i: (0, 0) for i in common}
            if conflict(entry, access, self.listing.bounds, shared):
                inner = common[-1] if common else -1
                found[(before, -1)] = Dependence(before, inner, 0, data)
                if stream >= 0:
                    last[stream] = before

    def _meet_earlier(
        self,
        access: Access,
        memory: Memory,
        loop: int,
        first: int,
        around: Sequence[int],
        last: dict[int, int],
    ) -> None:
        """Record the dependences of `access` on earlier iterations of `loop`.

        The first instruction of the loop is at `first`. `last` has, for each engine, the last
        instruction that is known to be followed.
        """
        after = access.node
        found = self.found[after]
        for entry in reversed(memory.candidates(access, first)):
            before = entry.node
            stream = self.streams[before]
            if stream >= 0 and last.get(stream, -1) >= before:
                continue
            key = (before, loop)
            known = found.get(key)
            if known is not None and known.distance == 1:
                continue
            if (before, -1) in found and (self.needed or (entry.fixed and access.fixed)):
                # the same bytes in every iteration: implied by the dependence in the iteration
                continue
            distance = self._distance(entry, access, loop, around)
            if distance and (known is None or distance < known.distance):
                data = entry.write and not access.write
                found[key] = Dependence(before, loop, distance, data)
                if distance == 1 and stream >= 0:
                    last[stream] = before

    def _distance(self, entry: Access, access: Access, loop: int, around: Sequence[int]) -> int:
        """Return the least number of iterations after which `access` overlaps `entry`; 0 for
        never.
        """
        bounds = self.listing.bounds
        last = bounds[LOOP + loop][1]
        if last < 1:
            return 0
        if entry.fixed and access.fixed:
            return 1 if conflict(entry, access, bounds) else 0
        if entry.stop <= access.start or access.stop <= entry.start:
            return 0
        shared: Shared = {LOOP + i: (0, 0) for i in around}
        places = (entry.shape, entry.pattern.address, access.shape, access.pattern.address)
        if shapes_meet(*places, bounds, {**shared, LOOP + loop: (1, 1)}):  # the common case
            return 1
        if not shapes_meet(*places, bounds, {**shared, LOOP + loop: (1, last)}):
            return 0
        for distance in range(2, min(_FARTHEST, last) + 1):
            near = {**shared, LOOP + loop: (distance, distance)}
            if shapes_meet(*places, bounds, near):
                return distance
        return min(_FARTHEST, last)

    def _common(self, a: int, b: int) -> tuple[int, ...]:
        inside_a, inside_b = self.nodes[a].inside, self.nodes[b].inside
        n = 0
        while n < min(len(inside_a), len(inside_b)) and inside_a[n] == inside_b[n]:
            n += 1
        return inside_a[:n]
