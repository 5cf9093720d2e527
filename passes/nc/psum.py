"""Track PSUM during scheduling: the banks in use, and which buffers may take one."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.run_ahead import Demand, RunAhead


@dataclass(frozen=True, slots=True)
class PsumDemand:
    """The PSUM demand of the instructions of a block, in banks; those of `held` are taken
    initially.
    """

    demand: Demand
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
        Buffers in `lasting` are also used after it: their banks stay in use from the first use on.
        Buffers in `leaving` are also used before it, such as those of a loop at its end: their
        banks are taken until the last use. Returns None if program order itself needs more banks
        than exist; then buffers must share banks, which only allocation can decide.
        """
        bank = machine.psum_bank_bytes
        sizes = {
            a.buffer: -(-buffers[a.buffer].size // bank)
            for node in nodes
            for a in node.accesses
            if buffers[a.buffer].space == Space.PSUM and a.buffer not in elsewhere
        }
        banks = machine.psum_banks - sum(-(-buffers[k].size // bank) for k in elsewhere)
        demand = Demand.of(nodes, sizes, banks, leaving, lasting)
        if nodes and demand.live.max() > banks:
            return None
        return PsumDemand(demand, frozenset(sizes) & leaving)


class PsumState:
    """The banks during scheduling."""

    def __init__(self, psum: PsumDemand) -> None:
        self.size = psum.demand.size
        self.ahead = RunAhead(psum.demand, psum.held)
        free = psum.demand.limit - sum(self.size[key] for key in psum.held)
        # a heap of the times at which free banks became free
        self.free_at: list[float] = [0.0] * free
        self.released: dict[int, float] = {}

    def changed(self, oldest: int) -> bool:
        """Return whether waiting instructions may have a bank now."""
        return self.ahead.changed(oldest)

    def take(self, i: int, oldest: int) -> float | None:
        """Take the banks that instruction `i` is the first to need; return when the last became
        free.

        Instructions that write parts of one buffer may start in any order. Returns None if the
        instruction must wait, and 0.0 if it needs no bank.
        """
        keys = self.ahead.missing(i)
        if not keys:
            return 0.0
        need = sum(self.size[key] for key in keys)
        if need > len(self.free_at) or not self.ahead.take(keys, oldest):
            return None
        when = 0.0
        for _ in range(need):
            when = max(when, heappop(self.free_at))
        return when

    def done(self, i: int, end: float) -> None:
        """Record that instruction `i` was scheduled and ends at `end`."""
        for key in self.ahead.demand.touches.get(i, ()):
            self.released[key] = max(self.released.get(key, 0.0), end)
        for key in self.ahead.done(i):
            for _ in range(self.size[key]):
                heappush(self.free_at, self.released[key])
