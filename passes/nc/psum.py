"""PSUM while scheduling: how many banks are taken, and who may take one."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.listing import Buffer, Node


@dataclass(frozen=True, slots=True)
class PsumDemand:
    """What the instructions of a block need of PSUM, in banks.

    `first[i]` are the buffers that instruction i is the first to touch and `touches[i]` all that it
    touches; `uses[b]` counts the instructions that touch b and `size[b]` are its banks. `peak` is
    the most that is live at once in program order. Those of `held` are taken at first.
    """

    first: dict[int, list[int]]
    touches: dict[int, list[int]]
    uses: dict[int, int]
    size: dict[int, int]
    rank: dict[int, int]  # place of the instruction that is the first to touch the buffer
    peak: int
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
        """The demand of straight-line code.

        Buffers `elsewhere` are also used outside of it: their banks are taken all the time. Those
        that are `lasting` are used after it too: their banks are taken from the first use on; those
        that are `leaving` before it, such as those of a loop at its end: until the last use. None
        where program order itself needs more than there is (then buffers have to share banks, which
        only the allocation can tell).
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
                    rank[key] = -1 if key in leaving else node.index
                uses[key] = uses.get(key, 0) + 1
                last[key] = node.index
        bank = machine.psum_bank_bytes
        size = {key: -(-buffers[key].size // bank) for key in uses}
        change: dict[int, int] = {}
        for key in uses:
            change[rank[key]] = change.get(rank[key], 0) + size[key]
            if key in lasting:
                uses[key] += 1  # which never comes
                continue
            change[last[key] + 1] = change.get(last[key] + 1, 0) - size[key]
        peak = now = 0
        for place in sorted(change):
            now += change[place]
            peak = max(peak, now)
        banks = machine.psum_banks - sum(-(-buffers[k].size // bank) for k in elsewhere)
        if peak > banks:
            return None
        held = frozenset(key for key in uses if key in leaving)
        return PsumDemand(first, touches, uses, size, rank, peak, banks, held)


class PsumState:
    """The banks during scheduling.

    A buffer that is first touched by the oldest instruction not yet started always gets its banks,
    because program order fits: others may take banks only as long as the peak of program order
    still fits beside all that was taken out of turn. So the schedule never gets stuck.
    """

    def __init__(self, demand: PsumDemand) -> None:
        self.demand = demand
        self.left = dict(demand.uses)
        free = demand.banks - sum(demand.size[key] for key in demand.held)
        self.free_at: list[float] = [0.0] * free  # a heap: when each free bank became free
        self.held: set[int] = set(demand.held)
        self.released: dict[int, float] = {}
        self._seen = (-1, -1)
        self._frees = 0
        self.turns = sorted(demand.rank, key=lambda key: (demand.rank[key], key))
        self.turn = 0
        self.owned: set[int] = set(demand.held)  # buffers that have, or had, their banks

    def changed(self, oldest: int) -> bool:
        """Whether something has happened that may help those that found no bank."""
        state = (oldest, self._frees)
        if state == self._seen:
            return False
        self._seen = state
        return True

    def take(self, i: int, oldest: int) -> float | None:
        """Take the banks that instruction `i` is the first to need; when the last became free.

        Instructions that write parts of one buffer may start in any order.

        None where it must wait. 0.0 where it needs none.
        """
        keys = [key for key in self.demand.touches.get(i, ()) if key not in self.owned]
        if not keys:
            return 0.0
        size = self.demand.size
        need = sum(size[key] for key in keys)
        if need > len(self.free_at):
            return None
        if i > oldest:
            early = sum(size[k] for k in self.held if self.demand.rank[k] > oldest)
            if early + need + self.demand.peak > self.demand.banks and not self._in_turn(keys):
                return None
        when = 0.0
        for _ in range(need):
            when = max(when, heappop(self.free_at))
        self.held.update(keys)
        self.owned.update(keys)
        self._frees += 1
        return when

    def _in_turn(self, keys: Sequence[int]) -> bool:
        """Whether every buffer that program order touches before those of `keys` has its banks."""
        while self.turns[self.turn] in self.owned:
            self.turn += 1
        return self.turns[self.turn] in keys

    def done(self, i: int, end: float) -> None:
        """Instruction `i` has been scheduled and ends at `end`."""
        for key in self.demand.touches.get(i, ()):
            self.left[key] -= 1
            self.released[key] = max(self.released.get(key, 0.0), end)
            if self.left[key] == 0:
                self.held.discard(key)
                self._frees += 1
                for _ in range(self.demand.size[key]):
                    heappush(self.free_at, self.released[key])
