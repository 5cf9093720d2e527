"""Time a program: the event-driven half of the simulator, without data.

Engines issue instructions in order. A directly dependent instruction waits for the result, and
semaphores, shared ports, activation tables and the DMA engines delay starts. An engine starts a
transfer at its position in the stream, and the transfer moves after the earlier ones of its queue.
Streams are processed in the order of their start times, so shared resources are served first come,
first served. Loops that have become periodic are skipped (steady.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from neuronir.dialects.nc.instruction import ASSUMED_ITERATIONS, COUNTER, Program
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.dma_timing import DmaEngines, Transfer
from neuronir.targets.simulator.idle import TRANSFERS, Cause, IdleLog
from neuronir.targets.simulator.steady import Steady
from neuronir.targets.simulator.timing_code import (
    BARRIER,
    SMALL,
    TRANSFER,
    CallTo,
    LoopBegin,
    LoopEnd,
    Op,
    ProgramCode,
    depends,
    tick,
)
from neuronir.targets.simulator.timing_state import (
    ENV,
    Frame,
    Recording,
    Semaphore,
    Stream,
    environment,
    value_of,
)

_DMA = -1  # the stream index of the DMA engines' own events


@dataclass(slots=True)
class TimingResult:
    """The result of a timing run; times in ns.

    `walked` instructions were simulated one by one; the others were extrapolated. `last` is the
    number of the op with the last result, -1 for a program without ops.
    """

    program: Program
    machine: Machine
    code: ProgramCode
    total_ns: float
    streams: list[Stream]
    port_stall_ns: float
    table_loads: int
    barriers: int
    walked: int
    recording: Recording | None
    idle: IdleLog
    last: int = -1


def simulate_timing(
    program: Program,
    machine: Machine | None = None,
    *,
    record: bool = False,
    extrapolate: bool = True,
    trips: Mapping[int, Sequence[int]] | None = None,
    assumed: int = ASSUMED_ITERATIONS,
) -> TimingResult:
    """Time one run of `program` on its machine.

    `record` keeps the interval of each instruction (and walks every loop). `trips` are the trip
    counts of loops with a runtime count (`Result.trips` of a functional run); without, each run of
    such a loop has `assumed` iterations. Raises NeuronError NIR_SIM004 if streams wait for each
    other forever.
    """
    machine = machine or get_machine(program.machine)
    code = ProgramCode(program, machine, trips, assumed)
    return TimingRun(code, record, extrapolate and not record and not code.counted).run()


class TimingRun:
    """One run; `run` may be called once."""

    def __init__(self, code: ProgramCode, record: bool, extrapolate: bool) -> None:
        self.code = code
        self.machine = code.machine
        self.recording = Recording() if record else None
        self.semaphores = [Semaphore() for _ in range(code.semaphores)]
        self.streams = [
            Stream(i, entry.engine, [Frame(entry, 0, [0] * ENV)])
            for i, entry in enumerate(code.entries)
        ]
        self.dma = DmaEngines(self.machine.dma_engines)
        self.heap: list[tuple[float, int, int]] = []
        self.port_free = [0.0] * (SMALL + 1)
        self.port_owner = [-1] * (SMALL + 1)
        self.now = 0.0
        self.total = 0.0
        self.last = -1
        self.barriers = 0
        self.walked = 0
        self.wait_log: list[int] = []
        self.idle = IdleLog()
        self._meeting = sum(entry.has_barrier for entry in code.entries)
        self._arrived: list[Stream] = []
        self._dma_event = -1.0
        self._depends: dict[tuple[int, int], bool] = {}
        self.semaphore_ns = tick(self.machine.semaphore_latency_ns)
        self._lead_ns = tick(self.machine.dma_fixed_ns - self.machine.dma_completion_ns)
        self._tail_ns = tick(self.machine.dma_completion_ns)
        self.table_ns = tick(self.machine.act_table_load_ns)
        self.branch_ns = tick(self.machine.branch_ns)
        self._steady = Steady(self) if extrapolate else None

    def run(self) -> TimingResult:
        """Run to the end."""
        for stream in self.streams:
            self._fetch(stream)
        heap = self.heap
        while heap:
            time, _, index = heappop(heap)
            self.now = time
            if index == _DMA:
                self._dma_step(time)
                continue
            stream = self.streams[index]
            op = stream.op
            assert op is not None
            if op.holds:
                later = self._port(stream, op, time)
                if later > time:
                    if stream.stalled < 0:
                        stream.stalled = time
                    heappush(heap, (later, 0, index))
                    continue
            self._issue(stream, op, time)
            self._fetch(stream)
        self._check_finished()
        for stream in self.streams:
            stream.idle = self.dma.idle(self.total, stream.index) - stream.idle
        return TimingResult(
            self.code.program,
            self.machine,
            self.code,
            self.total,
            self.streams,
            sum(s.port_stall for s in self.streams),
            sum(s.table_loads for s in self.streams),
            self.barriers,
            self.walked,
            self.recording,
            self.idle,
            self.last,
        )

    def _port(self, stream: Stream, op: Op, time: float) -> float:
        """Return when the ports that `op` needs are free of other engines."""
        for port, _ in op.holds:
            if self.port_owner[port] != stream.index and self.port_free[port] > time:
                time = self.port_free[port]
        return time

    def _issue(self, stream: Stream, op: Op, start: float) -> None:
        """Start `op` at `start`: occupy its engine and ports, and wake instructions that wait for
        it.
        """
        self.walked += 1
        stream.executed += 1
        if start > stream.free:
            self._log_idle(stream, op, start)
        if stream.stalled >= 0:
            if op.kind != TRANSFER:
                stream.port_stall += start - stream.stalled
            stream.stalled = -1.0
        for port, time in op.holds:
            self.port_owner[port] = stream.index
            self.port_free[port] = start + time
        stream.free = end = start + op.issue
        stream.active += op.issue
        place = -1
        if op.kind == TRANSFER:
            idle = self.dma.idle(start, stream.index)
            if idle > stream.idle:
                held = (TRANSFERS + stream.index, op.instruction.source, stream.cause, stream.maker)
                self.idle.add(held, idle - stream.idle)
            stream.idle = idle
            c = op.cost
            pieces = -(-c.descriptors // c.parallel) * c.parallel
            begin = start + tick(c.software_ns) + self._lead_ns
            transfer = Transfer(
                op,
                int(op.instruction.engine),
                stream.index,
                begin,
                tick(pieces * c.descriptor_ns),
                c.parallel * c.share,
            )
            if self.recording:
                transfer.record = self.recording.add(stream.index, op.number, start, end, end)
                self._record_flow(stream, transfer.record)
            self.dma.submit(transfer, start)
            self._schedule_dma()
            return
        result = start + op.latency
        stream.visible = max(stream.visible, result)
        if max(result, end) > self.total:
            self.total, self.last = max(result, end), op.number
        if self.recording:
            place = self.recording.add(stream.index, op.number, start, end, result)
            self._record_flow(stream, place)
        if op.forwards and result > end:
            stream.pending.append((result, op))
        if op.updates:
            self._update(op, result, place)

    def _log_idle(self, stream: Stream, op: Op, start: float) -> None:
        """Log the time from the end of the stream's last instruction to the start of `op`."""
        source = op.instruction.source
        ready = stream.stalled if stream.stalled >= 0 else start
        if ready > stream.free:
            cause = stream.cause
            if cause == Cause.SEMAPHORE and stream.executed == 1:
                cause = Cause.FIRST
            wait = (stream.index, source, cause, stream.maker)
            self.idle.add(wait, ready - stream.free)
        if start > ready:
            held = Cause.SMALL if op.kind == TRANSFER else Cause.PORT
            self.idle.add((stream.index, source, held, -1), start - ready)

    def _update(self, op: Op, time: float, place: int) -> None:
        for number, amount in op.updates:
            semaphore = self.semaphores[number]
            semaphore.add(time, amount, place, op.number)
            if semaphore.waiters:
                value = semaphore.values[-1]
                ready = [s for s in semaphore.waiters if s.need <= value]
                if ready:
                    semaphore.waiters = [s for s in semaphore.waiters if s.need > value]
                    for stream in ready:
                        stream.parked = -1
                        self._resolve(stream)

    def _schedule_dma(self) -> None:
        if self.dma.next != self._dma_event and self.dma.next < float("inf"):
            self._dma_event = self.dma.next
            heappush(self.heap, (self._dma_event, -1, _DMA))

    def _dma_step(self, time: float) -> None:
        if time != self.dma.next:
            return  # superseded by a later plan
        self._dma_event = -1.0
        for transfer in self.dma.step(time):
            if transfer.slow > 0:
                source = transfer.op.instruction.source
                slow = (TRANSFERS + transfer.stream, source, Cause.SLOW, -1)
                self.idle.add(slow, transfer.slow)
            done = time + self._tail_ns
            if done > self.total:
                self.total, self.last = done, transfer.op.number
            if self.recording:
                self.recording.moved(transfer.record, transfer.started, time, done)
            self._update(transfer.op, done, transfer.record)
        self._schedule_dma()

    def _fetch(self, stream: Stream) -> None:
        """Advance to the stream's next instruction and find when it can start."""
        op = self._next(stream)
        stream.op = op
        if op is None:
            stream.done = True
            stream.finish = stream.free
            return
        stream.needs = self.needs_of(stream, op)
        self._resolve(stream)

    def needs_of(self, stream: Stream, op: Op) -> list[tuple[int, int]]:
        """Return the (semaphore, value) pairs for which `op` waits in this iteration of its
        loops.
        """
        needs = []
        env = stream.frames[-1].env
        for number, const, terms in op.waits:
            need = const
            if terms:
                need = value_of(const, terms, env)
                self.wait_log += (number, need)
            if need > 0:
                needs.append((number, need))
        return needs

    def shift_dma(self, by: float) -> None:
        """Delay all transfers in flight by `by` ns."""
        self.dma.shift(by)
        if self._dma_event >= 0:
            self._dma_event += by

    def _next(self, stream: Stream) -> Op | None:
        frames = stream.frames
        frame = frames[-1]
        while True:
            steps = frame.code.steps
            if frame.pc >= len(steps):
                if len(frames) == 1:
                    return None
                counters = frames.pop().env[COUNTER:]
                frame = frames[-1]
                frame.env[COUNTER:] = counters
                continue
            step = steps[frame.pc]
            if isinstance(step, Op):
                frame.pc += 1
                return step
            if isinstance(step, LoopBegin):
                frame.env[step.level] = 0
                trips = step.trip_count
                if step.counter >= 0:
                    trips = self._begin(stream, step.counter)
                    stream.free += self.branch_ns
                frame.pc = frame.pc + 1 if trips > 0 else step.end + 1
                if self._steady and trips > 0:
                    self._steady.enter(stream, frame, step.end)
            elif isinstance(step, LoopEnd):
                frame.env[step.level] += 1
                trips = step.trip_count
                if step.counter >= 0:
                    frame.env[COUNTER + step.counter] += 1
                    trips = stream.trips[step.counter]
                    stream.free += self.branch_ns
                if frame.env[step.level] < trips:
                    end = frame.pc
                    frame.pc = step.body
                    if self._steady:
                        self._steady.round(stream, frame, end, trips)
                else:
                    frame.pc += 1
            elif isinstance(step, CallTo):
                frame.pc += 1
                frame = Frame(step.code, 0, environment(step.arguments, frame.env))
                frames.append(frame)

    def _begin(self, stream: Stream, counter: int) -> int:
        """Return the trip count of a loop with a runtime count, which the stream enters."""
        run = stream.runs.get(counter, 0)
        stream.runs[counter] = run + 1
        known = self.code.trips_of(counter)
        trips = known[min(run, len(known) - 1)] if known else 0
        stream.trips[counter] = trips
        return trips

    def _resolve(self, stream: Stream) -> None:
        """Queue the stream for the time at which its op can start, or park it on a semaphore."""
        op = stream.op
        assert op is not None
        time = stream.free
        cause, maker = Cause.PROGRAM, -1
        if op.table and op.table != stream.table:
            time += self.table_ns
            cause = Cause.TABLE
        if stream.pending:
            visible = self._after_results(stream, op, time)
            if visible > time:
                time, cause = visible, Cause.RESULT
        for number, need in stream.needs:
            semaphore = self.semaphores[number]
            if semaphore.values[-1] < need:
                stream.parked, stream.need = number, need
                semaphore.waiters.append(stream)
                return
            at = semaphore.reached(need)
            seen = semaphore.times[at] + self.semaphore_ns
            if seen > time:
                time, cause, maker = seen, Cause.SEMAPHORE, semaphore.makers[at]
        stream.cause, stream.maker = cause, maker
        if op.table and op.table != stream.table:
            stream.table = op.table
            stream.table_loads += 1
            stream.active += self.table_ns
        stream.stalled = -1.0
        if op.kind == BARRIER:
            if stream.visible > time:
                time, stream.cause, stream.maker = stream.visible, Cause.RESULT, -1
            if time > stream.free:
                wait = (stream.index, op.instruction.source, stream.cause, stream.maker)
                self.idle.add(wait, time - stream.free)
            self._arrive(stream, time)
        else:
            heappush(self.heap, (time, 1, stream.index))

    def _after_results(self, stream: Stream, op: Op, time: float) -> float:
        """Return when `op`'s operands from the engine's last instructions are visible."""
        free = stream.free
        stream.pending = [entry for entry in stream.pending if entry[0] > free]
        for visible, earlier in stream.pending:
            if visible > time:
                key = (op.number, earlier.number)
                known = self._depends.get(key)
                if known is None:
                    known = self._depends[key] = depends(op, earlier)
                if known:
                    time = visible
        return time

    def _arrive(self, stream: Stream, time: float) -> None:
        """Handle a barrier: when the last stream has arrived, all continue together."""
        stream.in_barrier = True
        stream.cause = Cause.BARRIER
        stream.free = time
        self._arrived.append(stream)
        if len(self._arrived) < self._meeting:
            return
        self.barriers += 1
        go = max(s.free for s in self._arrived) + self.semaphore_ns
        arrived, self._arrived = self._arrived, []
        for other in arrived:
            other.in_barrier = False
            heappush(self.heap, (go, 1, other.index))

    def _record_flow(self, stream: Stream, place: int) -> None:
        assert self.recording is not None
        last, cause = -1.0, -1
        for number, need in stream.needs:
            semaphore = self.semaphores[number]
            at = semaphore.reached(need)
            if semaphore.times[at] > last:
                last, cause = semaphore.times[at], semaphore.causes[at]
        if cause >= 0:
            self.recording.flows.append((cause, place))

    def _check_finished(self) -> None:
        stuck = [s for s in self.streams if not s.done]
        if not stuck:
            return
        lines = []
        for s in stuck:
            op = s.op
            name = op.instruction.opcode if op else "?"
            source = self.code.program.sources[op.instruction.source] if op else None
            where = f" of '{source.name}'" if source and source.name else ""
            if s.parked >= 0:
                has = self.semaphores[s.parked].values[-1]
                why = f"waits for semaphore {s.parked} >= {s.need}, which stays {has}"
            else:
                why = "waits at a barrier that not all engines reach"
            lines.append(f"{s.engine.name.lower()}: '{name}'{where} {why}")
        raise NeuronError(
            "NIR_SIM004",
            "deadlock: " + "; ".join(lines),
            help="an instruction must be raised before, in every engine's order, the one that "
            "waits for it",
        )
