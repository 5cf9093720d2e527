"""Track PSUM during scheduling: the banks in use, and which buffers may take one."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.listing import Buffer, Node


@dataclass(frozen=True, slots=True)
class PsumDemand:
    """The PSUM demand of the instructions of a block, in banks.

    `first[i]` are the buffers that instruction i is the first to access, and `touches[i]` all that
    it accesses. `uses[b]` is the number of instructions that access b, and `size[b]` its banks. In
    program order b is live from position `rank[b]` to `last[b]`, and `live` is the number of live
    banks at each position. The banks of `held` are taken initially.
    """

    first: dict[int, list[int]]
    touches: dict[int, list[int]]
    uses: dict[int, int]
    size: dict[int, int]
    rank: dict[int, int]
    last: dict[int, int]
    live: npt.NDArray[np.int32]
    banks: int
    held: frozenset[int] = frozenset()

    @staticmethod
    def of(
        nodes: Sequence[Node],
        buffers: Sequence[Buffer],
        machine: Machine,
        elsewhere: frozenset[int] = frozenset(),
        lasting: frozenset[int] = frozenset(),
        leaving: frozenset[int] = frozenset(),
    ) -> "PsumDemand | None":
        """Return the demand of straight-line code.

        Buffers in `elsewhere` are also used outside of the block: their banks are always in use.
        Buffers in
        `lasting` are also used after it: their banks stay in use from the first use on. Buffers in
        `leaving` are also used before it, such as those of a loop at its end: their banks are taken
        until the last use. Returns None if program order itself needs more banks than exist; then
        buffers must share banks, which only allocation can decide.
        """
        touches: dict[int, list[int]] = {}
        first: dict[int, list[int]] = {}
        uses: dict[int, int] = {}
        rank: dict[int, int] = {}
        last: dict[int, int] = {}
        for node in nodes:
            keys = {
                a.buffer
                for a in node.accesses
                if buffers[a.buffer].space == Space.PSUM and a.buffer not in elsewhere
            }
            if not keys:
                continue
            touches[node.index] = sorted(keys)
            for key in touches[node.index]:
                if key not in uses:
                    if key not in leaving:
                        first.setdefault(node.index, []).append(key)
                    rank[key] = 0 if key in leaving else node.index
                uses[key] = uses.get(key, 0) + 1
                last[key] = node.index
        bank = machine.psum_bank_bytes
        size = {key: -(-buffers[key].size // bank) for key in uses}
        places = len(nodes)
        for key in lasting & uses.keys():
            uses[key] += 1  # which never comes
            last[key] = places - 1
        change = np.zeros(places + 1, np.int32)
        for key in uses:
            change[rank[key]] += size[key]
            change[last[key] + 1] -= size[key]
        live = np.cumsum(change[:places], dtype=np.int32)
        banks = machine.psum_banks - sum(-(-buffers[k].size // bank) for k in elsewhere)
        if places and live.max() > banks:
            return None
        held = frozenset(key for key in uses if key in leaving)
        return PsumDemand(first, touches, uses, size, rank, last, live, banks, held)


class PsumState:
    """The banks during scheduling.

    A buffer may take its banks before its position in program order if everything live from the
    oldest unstarted instruction up to that position still fits. The oldest instruction therefore
    always finds its banks, and the schedule never deadlocks.
    """

    def __init__(self, demand: PsumDemand) -> None:
        self.demand = demand
        self.left = dict(demand.uses)
        free = demand.banks - sum(demand.size[key] for key in demand.held)
        # a heap of the times at which free banks became free
        self.free_at: list[float] = [0.0] * free
        self.released: dict[int, float] = {}
        # of buffers that have, or had, banks: from which position on
        self.since: dict[int, int] = dict.fromkeys(demand.held, 0)
        self.plan = demand.live.copy()  # banks at each position, including those taken ahead
        self._seen = (-1, -1)
        self._frees = 0

    def changed(self, oldest: int) -> bool:
        """Return whether waiting instructions may have a bank now: the oldest instruction has
        changed since the last call, or a bank was freed.
        """
        state = (oldest, self._frees)
        if state == self._seen:
            return False
        self._seen = state
        return True

    def take(self, i: int, oldest: int) -> float | None:
        """Take the banks that instruction `i` is the first to need; return when the last became
        free.

        Instructions that write parts of one buffer may start in any order. Returns None if the
        instruction must wait, and 0.0 if it needs no bank.
        """
        keys = [key for key in self.demand.touches.get(i, ()) if key not in self.since]
        if not keys:
            return 0.0
        size, rank = self.demand.size, self.demand.rank
        need = sum(size[key] for key in keys)
        if need > len(self.free_at):
            return None
        early = [key for key in keys if rank[key] > oldest]
        for number, key in enumerate(early):
            self.plan[oldest : rank[key]] += size[key]
            if self.plan[oldest : rank[key]].max() > self.demand.banks:
                for other in early[: number + 1]:
                    self.plan[oldest : rank[other]] -= size[other]
                return None
        when = 0.0
        for _ in range(need):
            when = max(when, heappop(self.free_at))
        self.since.update((key, min(rank[key], oldest)) for key in keys)
        self._frees += 1
        return when

    def done(self, i: int, end: float) -> None:
        """Record that instruction `i` was scheduled and ends at `end`."""
        for key in self.demand.touches.get(i, ()):
            self.left[key] -= 1
            self.released[key] = max(self.released.get(key, 0.0), end)
            if self.left[key] == 0:
                self._frees += 1
                size = self.demand.size[key]
                self.plan[self.since[key] : self.demand.last[key] + 1] -= size
                for _ in range(size):
                    heappush(self.free_at, self.released[key])
