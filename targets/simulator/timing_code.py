"""Prepare a program for timing: flat code per stream, with the cost of each instruction.

Timing needs no data: this is all that it reads of a Program.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.cost import Cost, cost
from neuronir.dialects.nc.enums import Engine, Port
from neuronir.dialects.nc.footprint import overlaps, reads, writes
from neuronir.dialects.nc.instruction import (
    ASSUMED_ITERATIONS,
    Affine,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError

TICKS = 1024.0
"""Times are multiples of 1/TICKS ns, so that sums of floats are exact and periods compare equal."""

PORTS = (Port.PSUM_VECTOR, Port.SBUF_VECTOR)
SMALL = len(PORTS)
"""A resource of small transfers: whichever engine triggers them, they start one after the other."""


def tick(ns: float) -> float:
    """Round `ns` to a multiple of one tick."""
    return round(ns * TICKS) / TICKS


@dataclass(slots=True, eq=False)
class Op:
    """One static instruction of the program; times in ns."""

    number: int
    instruction: Instruction
    cost: Cost
    issue: float
    latency: float
    holds: tuple[tuple[int, float], ...]  # (port, time)
    waits: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]  # (semaphore, const, terms)
    updates: tuple[tuple[int, int], ...]
    kind: int  # COMPUTE, TRANSFER or BARRIER
    table: str
    forwards: bool  # whether a later instruction of its engine may have to wait for its result


COMPUTE, TRANSFER, BARRIER = range(3)

_Enclosing = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LoopBegin:
    """Entry of a loop; `end` is the position of its LoopEnd.

    A loop with a runtime count has a `counter`, and the largest of its trip counts.
    """

    level: int
    trip_count: int
    end: int
    counter: int = -1


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """The back edge to `body`."""

    level: int
    trip_count: int
    body: int
    counter: int = -1


@dataclass(frozen=True, slots=True)
class CallTo:
    """Run `code` with the values of `arguments`."""

    code: "Code"
    arguments: tuple[Affine, ...]


Step = Op | LoopBegin | LoopEnd | CallTo


@dataclass(slots=True, eq=False)
class Code:
    """One engine's stream of one function.

    `enclosing[pc]` lists (level, trip count) of the loops around a position, outermost first.
    """

    number: int
    function: str
    engine: Engine
    steps: list[Step]
    enclosing: list[_Enclosing]
    has_barrier: bool = False


class ProgramCode:
    """The code of all streams of a program, and its ops by number."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        trips: Mapping[int, Sequence[int]] | None = None,
        assumed: int = ASSUMED_ITERATIONS,
    ) -> None:
        """Prepare a program; `trips` are the trip counts of each loop with a runtime count, by
        counter and run (Walker.trips). Without, such a loop has `assumed` iterations.
        """
        self.program = program
        self.trips = trips
        self.assumed = assumed
        self.counted: set[int] = set()  # counters of loops with a runtime count
        self.machine = machine
        self.ops: list[Op] = []
        self.codes: list[Code] = []
        self.semaphores = program.semaphores
        self._by_name: dict[tuple[str, Engine], Code] = {}
        self._active: list[str] = []
        if program.entry not in program.streams:
            raise NeuronError("NIR_SIM011", f"the program has no entry function '{program.entry}'")
        self.entries = [
            self._code(program.entry, engine)
            for engine in sorted(program.streams[program.entry], key=int)
        ]

    def _code(self, function: str, engine: Engine) -> Code:
        """Return the code of a function's stream on an engine; empty if the engine has none."""
        known = self._by_name.get((function, engine))
        if known is not None:
            return known
        if function in self._active:
            chain = " -> ".join([*self._active, function])
            raise NeuronError("NIR_SIM011", f"functions call themselves: {chain}")
        if function not in self.program.streams:
            raise NeuronError("NIR_SIM011", f"call of an unknown function '{function}'")
        self._active.append(function)
        code = Code(len(self.codes), function, engine, [], [])
        self.codes.append(code)
        self._emit(code, self.program.streams[function].get(engine, []), ())
        code.enclosing.append(())  # the end of the code
        self._active.pop()
        self._by_name[function, engine] = code
        return code

    def _emit(self, code: Code, items: Iterable[Item], around: _Enclosing) -> None:
        steps, enclosing = code.steps, code.enclosing
        for item in items:
            if isinstance(item, Instruction):
                op = self._op(item)
                code.has_barrier |= op.kind == BARRIER
                steps.append(op)
                enclosing.append(around)
            elif isinstance(item, Loop):
                level = len(around)
                trips = item.trip_count
                if item.count >= 0:
                    self.counted.add(item.counter)
                    trips = max(self.trips_of(item.counter), default=0)
                inside = (*around, (level, trips))
                begin = len(steps)
                steps.append(LoopBegin(level, trips, begin, item.counter))
                enclosing.append(around)
                self._emit(code, item.body, inside)
                if len(steps) == begin + 1:  # nothing to do in any iteration
                    steps.pop()
                    enclosing.pop()
                    continue
                steps.append(LoopEnd(level, trips, begin + 1, item.counter))
                enclosing.append(inside)
                steps[begin] = LoopBegin(level, trips, len(steps) - 1, item.counter)
            else:
                callee = self._code(item.function, code.engine)
                code.has_barrier |= callee.has_barrier
                if callee.steps:
                    steps.append(CallTo(callee, item.arguments))
                    enclosing.append(around)

    def trips_of(self, counter: int) -> Sequence[int]:
        """Return the trip counts of all runs of a loop, or the assumed one."""
        return (self.assumed,) if self.trips is None else self.trips.get(counter, ())

    def iterations(self, loop: LoopBegin, times: int) -> int:
        """Return the iterations of a loop that runs `times` times."""
        if loop.counter < 0 or self.trips is None:
            return times * loop.trip_count
        return sum(self.trips_of(loop.counter))

    def _op(self, i: Instruction) -> Op:
        c = cost(i, self.machine)
        holds = [(PORTS.index(p), tick(c.port_ns)) for p in sorted(c.ports, key=PORTS.index)]
        kind = COMPUTE
        if i.engine.is_dma:
            kind = TRANSFER
            if c.bytes <= self.machine.dma_small_bytes:
                holds.append((SMALL, tick(self.machine.dma_trigger_ns)))
        elif i.opcode == "barrier":
            kind = BARRIER
        for wait in i.waits:
            self.semaphores = max(self.semaphores, wait.semaphore + 1)
        for update in i.updates:
            self.semaphores = max(self.semaphores, update.semaphore + 1)
        op = Op(
            len(self.ops),
            i,
            c,
            max(tick(c.issue_ns), tick(self.machine.instruction_fetch_ns)),
            tick(c.latency_ns),
            tuple(holds),
            tuple((w.semaphore, w.value.const, w.value.terms) for w in i.waits),
            tuple((u.semaphore, u.amount) for u in i.updates),
            kind,
            c.table,
            i.engine in (Engine.ACT, Engine.DVE, Engine.POOL) and kind == COMPUTE,
        )
        self.ops.append(op)
        return op


def depends(later: Op, earlier: Op) -> bool:
    """Return whether `later` reads what `earlier` writes, both in one iteration of their loops.

    Addresses that vary differently count as dependent, which is conservative.
    """
    for target in writes(earlier.instruction):
        for source in reads(later.instruction):
            if target.space != source.space:
                continue
            if target.address.terms != source.address.terms:
                return True
            if overlaps(target, source, target.address.const, source.address.const):
                return True
    return False


__all__ = [
    "BARRIER",
    "COMPUTE",
    "PORTS",
    "SMALL",
    "TRANSFER",
    "CallTo",
    "Code",
    "LoopBegin",
    "LoopEnd",
    "Op",
    "ProgramCode",
    "Step",
    "depends",
    "tick",
]
