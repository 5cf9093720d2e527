"""Track a memory during scheduling: how far instructions may run ahead while all live buffers fit.

A buffer may be taken before its position in program order if everything that is live from the
oldest unstarted instruction up to that position still fits. The oldest instruction therefore always
finds its buffers, and the schedule never deadlocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuronir.passes.nc.listing import Node


@dataclass(frozen=True, slots=True)
class Demand:
    """The buffers of a memory that the instructions of a block access, in units of the memory.

    `touches[i]` are the buffers that instruction i accesses. `uses[b]` is the number of
    instructions that access b, and `size[b]` its units. In program order b is live from position
    `rank[b]` to `last[b]`, and `live` is the number of live units at each position, of `limit`.
    """

    touches: Mapping[int, Sequence[int]]
    uses: Mapping[int, int]
    size: Mapping[int, int]
    rank: Mapping[int, int]
    last: Mapping[int, int]
    live: npt.NDArray[np.int64]
    limit: int

    @staticmethod
    def of(
        nodes: Sequence[Node],
        sizes: Mapping[int, int],
        limit: int,
        begun: frozenset[int] = frozenset(),
        lasting: frozenset[int] = frozenset(),
    ) -> "Demand":
        """Return the demand of straight-line code for the buffers of `sizes`.

        Those that are `begun` are live from the start of the code on, those that are `lasting` to
        its end.
        """
        touches: dict[int, list[int]] = {}
        uses: dict[int, int] = {}
        rank: dict[int, int] = {}
        last: dict[int, int] = {}
        for node in nodes:
            keys = sorted({a.buffer for a in node.accesses if a.buffer in sizes})
            if keys:
                touches[node.index] = keys
            for key in keys:
                rank.setdefault(key, 0 if key in begun else node.index)
                uses[key] = uses.get(key, 0) + 1
                last[key] = node.index
        places = len(nodes)
        for key in lasting & uses.keys():
            uses[key] += 1  # which never comes
            last[key] = places - 1
        change = np.zeros(places + 1, np.int64)
        for key in uses:
            change[rank[key]] += sizes[key]
            change[last[key] + 1] -= sizes[key]
        live = np.cumsum(change[:places])
        return Demand(touches, uses, {key: sizes[key] for key in uses}, rank, last, live, limit)


class RunAhead:
    """The state of a memory while a schedule is made."""

    def __init__(self, demand: Demand, held: frozenset[int] = frozenset()) -> None:
        """Begin a schedule; the buffers `held` are taken."""
        self.demand = demand
        self.left = dict(demand.uses)
        # of buffers that are taken, or were: from which position on
        self.since: dict[int, int] = dict.fromkeys(held, 0)
        self.plan = demand.live.copy()  # units at each position, including those taken ahead
        self._seen = (-1, -1)
        self._changes = 0

    def changed(self, oldest: int) -> bool:
        """Return whether waiting instructions may find room now: the oldest instruction has changed
        since the last call, or a buffer was taken or freed.
        """
        state = (oldest, self._changes)
        if state == self._seen:
            return False
        self._seen = state
        return True

    def missing(self, i: int) -> list[int]:
        """Return the buffers of an instruction that are not taken yet."""
        return [key for key in self.demand.touches.get(i, ()) if key not in self.since]

    def take(self, keys: Sequence[int], oldest: int) -> bool:
        """Take buffers; return False, and take none, if they do not fit yet."""
        size, rank = self.demand.size, self.demand.rank
        early = [key for key in keys if rank[key] > oldest]
        for number, key in enumerate(early):
            self.plan[oldest : rank[key]] += size[key]
            if self.plan[oldest : rank[key]].max() > self.demand.limit:
                for other in early[: number + 1]:
                    self.plan[oldest : rank[other]] -= size[other]
                return False
        self.since.update((key, min(rank[key], oldest)) for key in keys)
        if keys:
            self._changes += 1
        return True

    def done(self, i: int) -> list[int]:
        """Record that an instruction was scheduled; return the buffers that are free after it."""
        free: list[int] = []
        for key in self.demand.touches.get(i, ()):
            self.left[key] -= 1
            if self.left[key] == 0:
                self._changes += 1
                self.plan[self.since[key] : self.demand.last[key] + 1] -= self.demand.size[key]
                free.append(key)
        return free
