"""Dependences between instructions at any depth of a function, with their distance in rounds.

The function is gone through in program order, each loop body twice: the second time stands for a
later round and finds what the rounds of that loop carry from one to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.footprint import shapes_meet
from neuronir.passes.nc.dependence import Memory, Shared, conflict
from neuronir.passes.nc.listing import LOOP, Access, Listing, Node

# Distances are searched one by one up to here; a dependence farther away counts as this far.
_FARTHEST = 8
_ALL = 1 << 62  # a place behind all others


@dataclass(frozen=True, slots=True)
class Dependence:
    """The instruction must follow instruction `before`.

    In the round of loop `loop` that is `distance` before its own; with distance 0 in the same round
    of all loops around both (the last round of those around `before` alone).
    """

    before: int
    loop: int
    distance: int
    data: bool


class Analysis:
    """The dependences of a function, by place of the later instruction.

    `places` counts its instructions. With `streams`, the in-order engine of each instruction (-1
    for none), those are left out that hold where all others do: what an instruction follows on its
    own engine; on another all but the last; and what it follows in earlier rounds of an engine, or
    of a transfer, that it follows in its own round.
    """

    def __init__(self, listing: Listing, places: int, streams: Sequence[int] | None = None) -> None:
        self.listing = listing
        self.needed = streams is not None
        self.streams = [-1] * places if streams is None else streams
        self.memories: dict[int, Memory] = {}
        self.found: list[dict[tuple[int, int], Dependence]] = [{} for _ in range(places)]
        # By place and engine the last instruction that is followed in the same round.
        self.last: list[dict[int, int]] = [{} for _ in range(places)]
        self.nodes: dict[int, Node] = {}  # by place
        self.accesses: list[list[Access]] = [[] for _ in range(places)]

    def run(self) -> list[list[Dependence]]:
        """Go through the function."""
        self._block(self.listing.nodes, 0)
        return [list(found.values()) for found in self.found]

    def run_loop(self, loop: Node) -> list[dict[tuple[int, int], Dependence]]:
        """Go through the rounds of one loop alone: what its instructions follow in them, by place
        and by (instruction, loop)."""
        self.memories = {}
        first = loop.body[0].place
        self._block(loop.body, first)
        self._carried(loop.body, loop.loop, first)
        return self.found

    def _block(self, nodes: Sequence[Node], place: int) -> int:
        """Go through a block whose first instruction is at `place`; the place behind the last."""
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
        """The accesses of an instruction; of what it both writes and reads the write stands for
        both, where it does not matter whether data flows."""
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
        """What instructions of a loop, the first at `first`, follow in earlier rounds of it."""
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
        """Whether each round of `loop` has a buffer of its own (none has an address yet)."""
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
        """Note what `access` depends on in its own round."""
        after = access.node
        found, last = self.found[after], self.last[after]
        for entry in reversed(memory.candidates(access)):
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
        """Note what `access` depends on in earlier rounds of `loop`, whose first instruction is at
        `first`. `last` has of each engine the last instruction that is known to be followed."""
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
                continue  # with the same bytes in every round, the one in the round implies it
            distance = self._distance(entry, access, loop, around)
            if distance and (known is None or distance < known.distance):
                data = entry.write and not access.write
                found[key] = Dependence(before, loop, distance, data)
                if distance == 1 and stream >= 0:
                    last[stream] = before

    def _distance(self, entry: Access, access: Access, loop: int, around: Sequence[int]) -> int:
        """The least number of rounds after which `access` meets `entry`; 0 for never."""
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
        if shapes_meet(*places, bounds, {**shared, LOOP + loop: (1, 1)}):  # as most do
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
