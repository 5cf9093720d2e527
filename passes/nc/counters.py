"""Compute the semaphore value after an instruction, as an affine function of loop iterations.

The semaphores of a loop with a runtime count are its own (fences.py): they stay as they are outside
it, and the iteration number of that loop counts all its iterations so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuronir.passes.nc.listing import Node


@dataclass(frozen=True, slots=True)
class Count:
    """`const` plus, for each loop around the instruction, `rounds` times its iteration number."""

    const: int
    rounds: tuple[tuple[int, int], ...]  # (loop, amount added in one iteration)


class Counters:
    """The values of all semaphores, given the amount that each instruction adds (by position)."""

    def __init__(
        self,
        nodes: Sequence[Node],
        loops: Sequence[Node],
        updates: Mapping[int, tuple[int, int]],
    ) -> None:
        self.updates = updates
        self.loops = loops
        self.in_round: list[dict[int, int]] = [{} for _ in loops]
        self.after: dict[int, int] = {}  # by position, in iteration 0 of all loops around it
        self.inside: dict[int, tuple[int, ...]] = {}
        self._total(nodes)
        self._walk(nodes, {})

    def _total(self, nodes: Sequence[Node]) -> dict[int, int]:
        out: dict[int, int] = {}
        for node in nodes:
            if node.record is None:
                inner = self._total(node.body)
                self.in_round[node.loop] = inner
                for semaphore, amount in () if node.counted else inner.items():
                    out[semaphore] = out.get(semaphore, 0) + amount * node.trip_count
            elif node.place in self.updates:
                semaphore, amount = self.updates[node.place]
                out[semaphore] = out.get(semaphore, 0) + amount
        return out

    def _walk(self, nodes: Sequence[Node], count: dict[int, int]) -> None:
        for node in nodes:
            if node.record is None:
                before = dict(count)
                self._walk(node.body, count)
                for semaphore, amount in () if node.counted else self.in_round[node.loop].items():
                    count[semaphore] = before.get(semaphore, 0) + amount * node.trip_count
            elif node.place in self.updates:
                semaphore, amount = self.updates[node.place]
                count[semaphore] = count.get(semaphore, 0) + amount
                self.after[node.place] = count[semaphore]
                self.inside[node.place] = node.inside

    def value(self, place: int, loop: int, distance: int) -> Count:
        """Return the semaphore value once the instruction at `place` is complete.

        The instruction is meant in the iteration of `loop` that is `distance` before the current
        one, in the current iteration of the loops around that one, and in the last iteration of
        those inside it.
        """
        semaphore = self.updates[place][0]
        const = self.after[place]
        terms: list[tuple[int, int]] = []
        current = loop >= 0
        for number in self.inside[place]:
            amount = self.in_round[number].get(semaphore, 0)
            if not current:
                const += amount * (self.loops[number].trip_count - 1)
                continue
            terms.append((number, amount))
            if number == loop:
                const -= amount * distance
                current = False
        return Count(const, tuple(terms))
