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
    """All dependences of a function, by place of the later instruction."""

    def __init__(self, listing: Listing, streams: Sequence[int]) -> None:
        self.listing = listing
        self.streams = streams
        self.memories: dict[int, Memory] = {}
        self.found: list[dict[tuple[int, int], Dependence]] = [{} for _ in streams]
        self.nodes: list[Node] = [None] * len(streams)  # type: ignore[list-item]
        self.accesses: list[list[Access]] = [[] for _ in streams]

    def run(self) -> list[list[Dependence]]:
        """Go through the function."""
        self._block(self.listing.nodes)
        return [list(found.values()) for found in self.found]

    def run_loop(self, loop: Node) -> list[dict[tuple[int, int], Dependence]]:
        """Go through the rounds of one loop alone: what its instructions follow in them, by place
        and by (instruction, loop)."""
        self.memories = {}
        self._block(loop.body)
        self._carried(loop.body, loop.loop)
        return self.found

    def _block(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.record is None:
                self._block(node.body)
                self._carried(node.body, node.loop)
                continue
            place = node.place
            self.nodes[place] = node
            self.accesses[place] = [a.of(place) for a in node.accesses]
            for access in self.accesses[place]:
                self._meet(access, self._memory(access), -1)
            for access in self.accesses[place]:
                self._memory(access).note(access)

    def _carried(self, nodes: Sequence[Node], loop: int) -> None:
        """What instructions of a loop follow in earlier rounds of it."""
        for node in nodes:
            if node.record is None:
                self._carried(node.body, loop)
                continue
            for access in self.accesses[node.place]:
                if not self._fresh(access, node, loop):
                    self._meet(access, self._memory(access), loop)
            for access in self.accesses[node.place]:
                self._memory(access).note_again(access)

    def _fresh(self, access: Access, node: Node, loop: int) -> bool:
        """Whether each round of `loop` has a buffer of its own (none has an address yet)."""
        owner = self.listing.buffers[access.buffer].loop
        return not self.listing.placed and owner >= 0 and loop in self._to(node, owner)

    def _to(self, node: Node, loop: int) -> tuple[int, ...]:
        return node.inside[: node.inside.index(loop) + 1]

    def _memory(self, access: Access) -> Memory:
        listing = self.listing
        key = access.buffer
        if listing.placed:
            key = int(listing.buffers[key].space)
        memory = self.memories.get(key)
        if memory is None:
            memory = self.memories[key] = Memory(listing.bounds, self.streams)
        return memory

    def _meet(self, access: Access, memory: Memory, loop: int) -> None:
        """Note what `access` depends on: in this round (`loop` is -1), or carried by `loop`."""
        for entry in memory.candidates(access):
            before, after = entry.node, access.node
            if loop < 0:
                if before == after:
                    continue
                key = (before, -1)
                known = self.found[after].get(key)
                data = entry.write and not access.write
                if known is not None and (known.data or not data):
                    continue
                common = self._common(before, after)
                shared: Shared = {LOOP + i: (0, 0) for i in common}
                if conflict(entry, access, self.listing.bounds, shared):
                    last = common[-1] if common else -1
                    self.found[after][key] = Dependence(before, last, 0, data)
                continue
            if loop not in self.nodes[before].inside:
                continue
            self._note_carried(entry, access, loop)

    def _note_carried(self, entry: Access, access: Access, loop: int) -> None:
        before, after = entry.node, access.node
        key = (before, loop)
        known = self.found[after].get(key)
        if known is not None and known.distance == 1:
            return
        if entry.fixed and access.fixed and before < after and (before, -1) in self.found[after]:
            return  # the same bytes in every round: the dependence inside the round implies it
        distance = self._distance(entry, access, loop)
        if distance and (known is None or distance < known.distance):
            data = entry.write and not access.write
            self.found[after][key] = Dependence(before, loop, distance, data)

    def _distance(self, entry: Access, access: Access, loop: int) -> int:
        """The least number of rounds after which `access` meets `entry`; 0 for never."""
        bounds = self.listing.bounds
        last = bounds[LOOP + loop][1]
        if last < 1:
            return 0
        around = self.nodes[access.node].inside
        shared: Shared = {LOOP + i: (0, 0) for i in around[: around.index(loop)]}
        if entry.fixed and access.fixed:
            return 1 if conflict(entry, access, bounds) else 0
        if entry.stop <= access.start or access.stop <= entry.start:
            return 0
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
