"""List-schedule straight-line code on in-order engines that share ports."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from neuronir.dialects.nc.cost import Cost, cost
from neuronir.dialects.nc.enums import Engine, Port
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.dependence import Predecessors
from neuronir.passes.nc.psum import PsumDemand, PsumState
from neuronir.passes.nc.run_ahead import Demand
from neuronir.passes.nc.sbuf import SbufState

PLACE_NS = 50.0
"""The weight of the position in program order relative to the chain length.

Without it, the starts of independent work come first and their ends, which free memory, last.
"""


@dataclass(slots=True)
class Work:
    """The scheduler's data for one instruction; times in ns."""

    engine: int
    issue: float
    latency: float
    ports: frozenset[Port] = frozenset()
    port_time: float = 0.0
    table: str = ""
    dma: float = 0.0  # time of all DMA engines together
    transfer: bool = False  # `engine` is the one that triggers it


def work_of(record: Instruction, machine: Machine) -> Work:
    """Return the work of an instruction by the cost model."""
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
    """Return the time from the start of `first` to the earliest start of the dependent `second`."""
    if first.engine == second.engine and not (first.transfer or second.transfer):
        if not data or first.engine == Engine.PE:  # PE accumulates without waiting for itself
            return first.issue
        return first.latency
    return first.latency + machine.semaphore_latency_ns


def is_spread(record: Instruction) -> bool:
    """Return whether a matmul starts a sum by broadcasting one row (or a sum of rows)."""
    if record.opcode != "matmul" or record.params.get("accumulate"):
        return False
    stationary = record.src[0]
    return stationary is not None and all(not step for step, n in stationary.free if n > 1)


@dataclass(slots=True)
class _Lane:
    """One engine: the ready instructions by activation table, and the pending ones."""

    tables: Sequence[str]  # by instruction
    free: float = 0.0
    table: str = ""  # the loaded table
    now: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    later: list[tuple[float, float, int]] = field(default_factory=list)

    def next_start(self) -> float:
        if any(self.now.values()):
            return self.free
        return max(self.free, self.later[0][0]) if self.later else float("inf")

    def pick(self, at: float, switch: float) -> int:
        """Take the most urgent instruction that is ready at `at`; changing the table must pay."""
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
    sbuf: Demand | None = None,
    spreads: Collection[int] = (),
    chains: Sequence[tuple[int, int]] = (),
    moves: bool = False,
) -> list[float]:
    """Return start times (ns) of the instructions of a block that respect their dependences.

    The most urgent ready instruction goes first: the one with the longest chain of work after it,
    less its position in program order. On PE, program order decides, so that products with a common
    stationary operand stay together and end one after another. An instruction starts at most
    `window` positions before the first unstarted one in program order, which keeps live ranges
    close to those of the program.

    `fixed` gives start times of instructions that are already scheduled (the weight stream). `psum`
    keeps the schedule within the banks; with `sbuf`, no instruction runs so far ahead that the live
    bytes exceed their limit. `spreads` are rows of constants that PE broadcasts over the
    partitions: each waits until its reader waits for nothing else, so that it holds its bank only
    briefly, and then precedes all other work of PE. `chains` are pairs of instructions that one
    engine must start in order; program order then decides on all engines. With `moves`, the start
    times are the new order: no instruction starts before the window has reached it, so that it
    takes no memory before; otherwise an idle engine starts what is ready.
    """
    run = _Schedule(works, predecessors, machine, window, fixed or {}, chains)
    run.moves = moves
    run.banks = PsumState(psum) if psum is not None else None
    run.sbuf = SbufState(sbuf) if sbuf is not None else None
    run.hold_back(predecessors, spreads)
    return run.start_times()


def _tails(works: Sequence[Work], successors: Sequence[Sequence[tuple[int, float]]]) -> list[float]:
    """Return the length of the longest chain of work that starts with each instruction."""
    tail = [0.0] * len(works)
    for i in range(len(works) - 1, -1, -1):
        tail[i] = max((d + tail[j] for j, d in successors[i]), default=works[i].latency)
    return tail


class _Schedule:
    """The state of a schedule in progress."""

    def __init__(
        self,
        works: Sequence[Work],
        predecessors: Predecessors,
        machine: Machine,
        window: int,
        given: dict[int, float],
        chains: Sequence[tuple[int, int]],
    ) -> None:
        n = len(works)
        self.works, self.machine, self.window, self.given = works, machine, window, given
        self.successors: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        self.missing = [0] * n  # the number of predecessors that each instruction still waits for
        for j, found in enumerate(predecessors):
            if j in given:
                continue
            self.missing[j] = len(found)
            for i, data in found.items():
                self.successors[i].append((j, delay(works[i], works[j], data, machine)))
        for i, j in chains:
            self.missing[j] += 1
            self.successors[i].append((j, works[i].issue))
        self.urgency = [
            float(i) if chains or works[i].engine == Engine.PE else PLACE_NS * i - tail
            for i, tail in enumerate(_tails(works, self.successors))
        ]
        # spreads: the number of other predecessors of their readers
        self.waits: dict[int, int] = {}
        self.followers: dict[int, list[int]] = {}
        tables = [w.table for w in works]
        self.lanes = {w.engine: _Lane(tables) for w in works}
        self.ready = [0.0] * n
        self.start = [0.0] * n
        self.done = [False] * n
        self.port_free: dict[Port, tuple[float, int]] = {}
        self.dma_free = 0.0
        self.low = 0  # the first unstarted instruction
        self.oldest = 0  # the same, without waiting spreads
        self.moves = False
        self.opened = 0.0  # when the window reached its end
        self.held: list[int] = []  # ready but outside the window
        self.banks: PsumState | None = None
        self.sbuf: SbufState | None = None
        self.starved: list[int] = []  # ready but without room

    def hold_back(self, predecessors: Predecessors, spreads: Collection[int]) -> None:
        """Delay spreads until their readers wait for nothing else."""
        for i in spreads:
            reader = min((j for j, _ in self.successors[i]), default=i)
            others = [p for p in predecessors[reader] if p not in spreads and p not in self.given]
            if reader != i and others and self.works[reader].engine != Engine.PE:
                self.waits[i] = len(others)
                self.urgency[i] -= len(self.works)
                for p in others:
                    self.followers.setdefault(p, []).append(i)

    def start_times(self) -> list[float]:
        """Start all instructions."""
        for i in range(len(self.works)):
            if i not in self.given and self.missing[i] == 0:
                self._release(i)
        for i, at in self.given.items():
            self._finish(i, at)
        left = len(self.works) - len(self.given)
        switch = 2 * self.machine.act_table_load_ns
        lanes = self.lanes
        while left:
            self._move_on()
            number = min(lanes, key=lambda e: (lanes[e].next_start(), e))
            lane = lanes[number]
            at = lane.next_start()
            if at == float("inf"):  # spreads and their producers wait for each other's banks
                for i in list(self.waits):
                    self._admit(i)
                continue
            left -= self._begin(lane.pick(at, switch), lane, number, at)
        return self.start

    def _push(self, i: int) -> None:
        lane = self.lanes[self.works[i].engine]
        heappush(lane.later, (self.ready[i], self.urgency[i], i))

    def _release(self, i: int) -> None:
        """Mark an instruction as ready: it has no unstarted predecessors."""
        if i in self.waits:
            return
        if i >= self.oldest + self.window:
            heappush(self.held, i)
        else:
            self._push(i)

    def _admit(self, i: int) -> None:
        del self.waits[i]
        if self.missing[i] == 0:
            self._release(i)

    def _finish(self, i: int, at: float, held_up: float = 0.0) -> None:
        """Start an instruction at a time; its successors may become ready."""
        ready, missing, given = self.ready, self.missing, self.given
        self.start[i] = at
        self.done[i] = True
        if self.sbuf is not None:
            self.sbuf.begin(i, at)
        from_now = at + held_up
        for j, d in self.successors[i]:
            ready[j] = max(ready[j], from_now + d)
            missing[j] -= 1
            if missing[j] == 0 and j not in given:
                self._release(j)
        for j in self.followers.get(i, ()):
            if j in self.waits:
                self.waits[j] -= 1
                ready[j] = max(ready[j], at)
                if not self.waits[j]:
                    self._admit(j)

    def _move_on(self) -> None:
        """Advance the window, and retry instructions without room."""
        n, done = len(self.works), self.done
        while self.low < n and done[self.low]:
            self.low += 1
        while self.oldest < n and (done[self.oldest] or self.oldest in self.waits):
            self.opened = max(self.opened, self.start[self.oldest])
            self.oldest += 1
        while self.held and self.held[0] < self.oldest + self.window:
            i = heappop(self.held)
            if self.moves:
                self.ready[i] = max(self.ready[i], self.opened)
            self._push(i)
        changed = self.banks is not None and self.banks.changed(self.low)
        freed = 0.0
        if self.sbuf is not None:
            freed = self.sbuf.move_on(lane.next_start() for lane in self.lanes.values())
            changed |= self.sbuf.changed()
        if self.starved and changed:
            again, self.starved = self.starved, []
            for i in again:
                self.ready[i] = max(self.ready[i], freed)
                self._push(i)

    def _begin(self, i: int, lane: _Lane, number: int, at: float) -> bool:
        """Start an instruction at `at`, or when banks and ports are free; return False without
        room in a memory.
        """
        w, port_free = self.works[i], self.port_free
        free = self._room(i)
        if free is None:
            self.starved.append(i)
            # nothing else that was ready at `at` can start earlier
            lane.free = max(lane.free, at)
            return False
        at = max(at, free)
        for port in w.ports:
            until, owner = port_free.get(port, (0.0, number))
            if owner != number:
                at = max(at, until)
        for port in w.ports:
            port_free[port] = (at + w.port_time, number)
        held_up = 0.0
        if w.dma:  # the DMA engines serve the transfers of all queues in turn
            # small transfers pass between the packets of others
            if w.dma > self.machine.dma_trigger_ns:
                held_up = max(0.0, self.dma_free - at)
            self.dma_free = max(at, self.dma_free) + w.dma
        lane.free = at + w.issue
        self._finish(i, at, held_up)
        if self.banks is not None:
            self.banks.done(i, at + w.latency)
        return True

    def _room(self, i: int) -> float | None:
        """Take the buffers that an instruction needs; return when they are free, None for not
        yet.
        """
        if self.sbuf is not None and not self.sbuf.take(i):
            return None
        return self.banks.take(i, self.low) if self.banks is not None else 0.0
