"""List scheduling of straight-line code on in-order engines that share ports."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from neuronir.dialects.nc.cost import Cost, cost
from neuronir.dialects.nc.enums import Engine, Port
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.dependence import Predecessors
from neuronir.passes.nc.psum import PsumDemand, PsumState

PLACE_NS = 50.0
"""What a place in program order counts against the length of the chain behind an instruction: else
the beginnings of independent work all come first, and their ends, which free what they hold, last.
"""


@dataclass(slots=True)
class Work:
    """What the scheduler knows of one instruction; times in ns."""

    engine: int
    issue: float
    latency: float
    ports: frozenset[Port] = frozenset()
    port_time: float = 0.0
    table: str = ""
    dma: float = 0.0  # time of all DMA engines together
    transfer: bool = False  # `engine` is the one that starts it


def work_of(record: Instruction, machine: Machine) -> Work:
    """The work of an instruction by the cost model."""
    c: Cost = cost(record, machine)
    return Work(
        int(record.stream),
        max(c.issue_ns, 1.0),
        max(c.latency_ns, c.issue_ns),
        c.ports,
        c.port_ns,
        c.table,
        c.dma_load_ns / machine.dma_engines,
        record.engine.is_dma,
    )


def delay(first: Work, second: Work, data: bool, machine: Machine) -> float:
    """From the start of `first` to the earliest start of `second`, which depends on it."""
    if first.engine == second.engine and not (first.transfer or second.transfer):
        if not data or first.engine == Engine.PE:  # PE accumulates without waiting for itself
            return first.issue
        return first.latency
    return first.latency + machine.semaphore_latency_ns


def is_spread(record: Instruction) -> bool:
    """Whether a matmul begins a sum by repeating one row (or the sum of some) on all partitions."""
    if record.opcode != "matmul" or record.params.get("accumulate"):
        return False
    stationary = record.src[0]
    return stationary is not None and all(not step for step, n in stationary.free if n > 1)


@dataclass(slots=True)
class _Lane:
    """One engine: what is ready now, by activation table, and what will be."""

    tables: Sequence[str]  # by instruction
    free: float = 0.0
    table: str = ""  # that is loaded
    now: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    later: list[tuple[float, float, int]] = field(default_factory=list)

    def next_start(self) -> float:
        if any(self.now.values()):
            return self.free
        return max(self.free, self.later[0][0]) if self.later else float("inf")

    def pick(self, at: float, switch: float) -> int:
        """Take the most urgent that is ready at `at`; another table must be worth loading."""
        while self.later and self.later[0][0] <= at:
            _, priority, i = heappop(self.later)
            heappush(self.now.setdefault(self.tables[i], []), (priority, i))
        best = ""
        best_key: tuple[float, int] | None = None
        for table, heap in self.now.items():
            if not heap:
                continue
            priority, i = heap[0]
            if table and table != self.table:
                priority += switch
            if best_key is None or (priority, i) < best_key:
                best, best_key = table, (priority, i)
        _, chosen = heappop(self.now[best])
        if best:
            self.table = best
        return chosen


def list_schedule(
    works: Sequence[Work],
    predecessors: Predecessors,
    machine: Machine,
    *,
    window: int,
    fixed: dict[int, float] | None = None,
    psum: PsumDemand | None = None,
    spreads: Collection[int] = (),
    chains: Sequence[tuple[int, int]] = (),
) -> list[float]:
    """Start times (ns) of the instructions of a block, consistent with their dependences.

    Of what is ready the most urgent goes first: that with the longest chain of work behind it, less
    its place in program order; on PE the first in program order, so that products which share a
    stationary stay together and end one after the other. An instruction starts at most `window`
    places before the first one, in program order, that has not been started: that keeps live
    ranges near to those of the program. `fixed` gives start times of instructions that the schedule
    takes as they are (the weight stream). `psum` keeps the schedule within the banks. `spreads` are
    rows of constants that PE spreads over the partitions: each waits until its reader waits for
    nothing else, so that it takes no bank for long, and then goes before all other work of PE.
    `chains` are pairs of instructions that one engine has to begin in their order; then of those
    that are ready the first in program order goes first on all engines.
    """
    n = len(works)
    given = fixed or {}
    successors: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    missing = [0] * n
    for j, found in enumerate(predecessors):
        if j in given:
            continue
        missing[j] = len(found)
        for i, data in found.items():
            successors[i].append((j, delay(works[i], works[j], data, machine)))
    for i, j in chains:
        missing[j] += 1
        successors[i].append((j, works[i].issue))
    tail = [0.0] * n
    for i in range(n - 1, -1, -1):
        tail[i] = max((d + tail[j] for j, d in successors[i]), default=works[i].latency)
    urgency = [
        float(i) if chains or works[i].engine == Engine.PE else PLACE_NS * i - tail[i]
        for i in range(n)
    ]
    waits: dict[int, int] = {}  # spreads: how many their readers wait for besides
    followers: dict[int, list[int]] = {}
    for i in spreads:
        reader = min((j for j, _ in successors[i]), default=i)
        others = [p for p in predecessors[reader] if p not in spreads and p not in given]
        if reader != i and others and works[reader].engine != Engine.PE:
            waits[i] = len(others)
            urgency[i] -= n
            for p in others:
                followers.setdefault(p, []).append(i)
    tables = [w.table for w in works]
    lanes = {w.engine: _Lane(tables) for w in works}
    switch = 2 * machine.act_table_load_ns
    ready = [0.0] * n
    start = [0.0] * n
    done = [False] * n
    port_free: dict[Port, tuple[float, int]] = {}
    dma_free = 0.0
    low = 0  # the first not started
    oldest = 0  # the same, without spreads that wait
    held: list[int] = []  # ready but outside the window
    banks = PsumState(psum) if psum is not None else None
    starved: list[int] = []  # ready but without a bank

    def release(i: int) -> None:
        if i in waits:
            return
        if i >= oldest + window:
            heappush(held, i)
        else:
            heappush(lanes[works[i].engine].later, (ready[i], urgency[i], i))

    def finish(i: int, at: float, held_up: float = 0.0) -> None:
        start[i] = at
        done[i] = True
        for j, d in successors[i]:
            ready[j] = max(ready[j], at + held_up + d)
            missing[j] -= 1
            if missing[j] == 0 and j not in given:
                release(j)
        for j in followers.get(i, ()):
            if j in waits:
                waits[j] -= 1
                ready[j] = max(ready[j], at)
                if not waits[j]:
                    admit(j)

    def admit(i: int) -> None:
        del waits[i]
        if missing[i] == 0:
            release(i)

    for i in range(n):
        if i not in given and missing[i] == 0:
            release(i)
    for i, at in given.items():
        finish(i, at)
    left = n - len(given)
    while left:
        while low < n and done[low]:
            low += 1
        while oldest < n and (done[oldest] or oldest in waits):
            oldest += 1
        while held and held[0] < oldest + window:
            i = heappop(held)
            heappush(lanes[works[i].engine].later, (ready[i], urgency[i], i))
        if starved and banks is not None and banks.changed(low):
            again, starved = starved, []
            for i in again:
                heappush(lanes[works[i].engine].later, (ready[i], urgency[i], i))
        number = min(lanes, key=lambda e: (lanes[e].next_start(), e))
        lane = lanes[number]
        at = lane.next_start()
        if at == float("inf"):  # what the spreads wait for waits for their banks
            for i in list(waits):
                admit(i)
            continue
        i = lane.pick(at, switch)
        w = works[i]
        if banks is not None:
            free = banks.take(i, low)
            if free is None:
                starved.append(i)
                lane.free = max(lane.free, at)  # what else was ready at `at` can't start before
                continue
            at = max(at, free)
        for port in w.ports:
            until, owner = port_free.get(port, (0.0, number))
            if owner != number:
                at = max(at, until)
        for port in w.ports:
            port_free[port] = (at + w.port_time, number)
        held_up = 0.0
        if w.dma:  # the DMA engines take the transfers of all queues one after the other
            if w.dma > machine.dma_trigger_ns:  # small ones pass between the packets of others
                held_up = max(0.0, dma_free - at)
            dma_free = max(at, dma_free) + w.dma
        lane.free = at + w.issue
        finish(i, at, held_up)
        if banks is not None:
            banks.done(i, at + w.latency)
        left -= 1
    return start
