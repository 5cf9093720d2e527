"""Detect loops in steady state, and skip iterations that repeat exactly.

At a back edge the whole state of the run is recorded, with times relative to now and without
iteration numbers and semaphore values. If the same state recurs twice, the iterations in between
repeat as long as (1) every stream stays in its loops, and (2) no wait needs more, per iteration,
than its semaphore gets. All of these iterations are then skipped at once: times, semaphores,
iteration numbers and counters advance. The result equals that of a full walk.
"""

from dataclasses import dataclass, field
from heapq import heapify
from typing import Protocol

from neuronir.dialects.nc.instruction import ARGUMENT
from neuronir.targets.simulator.dma_timing import DmaEngines
from neuronir.targets.simulator.idle import IdleLog
from neuronir.targets.simulator.timing_code import Op
from neuronir.targets.simulator.timing_state import ENV, Frame, Semaphore, Stream

_SNAPSHOTS = 12  # snapshots of a loop before only every second iteration is recorded
_TRIPS = 6  # loops with fewer iterations are walked


@dataclass(slots=True, eq=False)
class Snapshot:
    """The state at a back edge: `key` must repeat, the rest advances."""

    key: tuple[object, ...]
    now: float
    envs: list[list[int]]
    semaphores: list[int]
    needs: list[int]
    counters: list[tuple[int, float, float, int]]
    barriers: int
    log: int
    idle: int


@dataclass(slots=True, eq=False)
class History:
    """The snapshots of one loop, taken every `every` iterations."""

    snapshots: list[Snapshot] = field(default_factory=list)
    every: int = 1
    rounds: int = 0


class Run(Protocol):
    """The state of a timing run that skipping iterations advances; times in ns."""

    streams: list[Stream]
    semaphores: list[Semaphore]
    dma: DmaEngines
    heap: list[tuple[float, int, int]]
    port_free: list[float]
    port_owner: list[int]
    now: float
    total: float
    barriers: int
    wait_log: list[int]
    idle: IdleLog
    semaphore_ns: float
    table_ns: float

    def needs_of(self, stream: Stream, op: Op) -> list[tuple[int, int]]:
        """Return the (semaphore, value) pairs for which `op` waits in this iteration of its
        loops.
        """

    def shift_dma(self, by: float) -> None:
        """Delay all transfers in flight by `by` ns."""


class Steady:
    """Watches the loops of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._histories: dict[tuple[int, int, int, int], History] = {}

    def enter(self, stream: Stream, frame: Frame, end: int) -> None:
        """Handle a stream entering the loop that ends at `end`."""
        self._histories.pop((stream.index, len(stream.frames), frame.code.number, end), None)

    def round(self, stream: Stream, frame: Frame, end: int, trip_count: int) -> None:
        """Handle a back edge at `end`; the stream's iteration number is that of the new
        iteration.
        """
        if trip_count < _TRIPS:
            return
        key = (stream.index, len(stream.frames), frame.code.number, end)
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = History()
        history.rounds += 1
        if history.rounds % history.every:
            return
        level = frame.code.enclosing[end][-1][0]
        if trip_count - frame.env[level] < 3:
            return
        snapshot = self._take(stream)
        if self._repeats(stream, history.snapshots, snapshot):
            # Outer loops keep their snapshots, which stay valid across the skip.
            del self._histories[key]
            return
        history.snapshots.append(snapshot)
        if len(history.snapshots) >= _SNAPSHOTS:
            history.snapshots = history.snapshots[1::2]
            history.every *= 2

    def _take(self, leader: Stream) -> Snapshot:
        run = self._run
        now = run.now
        waiting = {index: time - now for time, _, index in run.heap if index >= 0}
        stalled = {index for _, order, index in run.heap if index >= 0 and order == 0}
        streams = tuple(
            (
                tuple((f.code.number, f.pc) for f in s.frames),
                s.done,
                s.in_barrier,
                s.parked,
                # A parked stream continues from its wake-up or from `free`.
                waiting.get(s.index),
                s.index in stalled,
                max(s.free - now, -run.table_ns) if s.parked >= 0 or s is leader else 0.0,
                tuple((t - now, op.number) for t, op in s.pending if t > now),
                s.table,
                s is leader,
            )
            for s in run.streams
        )
        ports = tuple(
            (free - now, owner) if free > now else None
            for free, owner in zip(run.port_free, run.port_owner, strict=True)
        )
        # An addition becomes visible some time after it was made, so the recent past counts as
        # future.
        past = now - run.semaphore_ns
        coming = []
        for number, semaphore in enumerate(run.semaphores):
            if semaphore.times[-1] > past:
                last = semaphore.values[-1]
                at = len(semaphore.times) - 1
                future = []
                while at >= 0 and semaphore.times[at] > past:
                    future.append((semaphore.times[at] - now, semaphore.values[at] - last))
                    at -= 1
                coming.append((number, tuple(future), semaphore.values[at] - last))
        return Snapshot(
            (streams, ports, run.dma.state(now), tuple(coming), max(run.total - now, 0.0)),
            now,
            [list(f.env) for s in run.streams for f in s.frames],
            [s.values[-1] for s in run.semaphores],
            [s.need if s.parked >= 0 else 0 for s in run.streams],
            [(s.executed, s.active, s.port_stall, s.table_loads) for s in run.streams],
            run.barriers,
            len(run.wait_log),
            len(run.idle),
        )

    def _repeats(self, leader: Stream, earlier: list[Snapshot], last: Snapshot) -> bool:
        """Skip ahead if `last` is the third of a series at equal distances."""
        for period in range(1, len(earlier) // 2 + 1):
            middle, first = earlier[-period], earlier[-2 * period]
            if middle.key == last.key and first.key == last.key:
                rounds = self._rounds(first, middle, last)
                if rounds > 0:
                    self._jump(leader, middle, last, rounds)
                    return True
        return False

    def _rounds(self, first: Snapshot, middle: Snapshot, last: Snapshot) -> int:
        """Return how many periods can be skipped; 0 if they may not repeat."""
        run = self._run
        gains = [b - a for a, b in zip(middle.semaphores, last.semaphores, strict=True)]
        if gains != [b - a for a, b in zip(first.semaphores, middle.semaphores, strict=True)]:
            return 0
        old, new = run.wait_log[first.log : middle.log], run.wait_log[middle.log : last.log]
        if len(old) != len(new) or old[::2] != new[::2]:
            return 0
        for number, before, after in zip(new[::2], old[1::2], new[1::2], strict=True):
            if after - before > gains[number]:
                return 0
        limit = 1 << 60
        for stream, before, after in zip(run.streams, middle.needs, last.needs, strict=True):
            if stream.parked >= 0 and after - before != gains[stream.parked]:
                gain = gains[stream.parked]
                if after != before:
                    return 0
                # It waits for something outside the loop: stay below that value.
                limit = min(limit, (after - last.semaphores[stream.parked] - 1) // gain)
        place = 0
        for stream in run.streams:
            moving = 0
            for frame in stream.frames:
                a, b, c = first.envs[place], middle.envs[place], last.envs[place]
                place += 1
                for level, trips in frame.code.enclosing[frame.pc]:
                    step = c[level] - b[level]
                    if step != b[level] - a[level] or step < 0:
                        return 0
                    if step:
                        moving += 1
                        limit = min(limit, (trips - 1 - c[level]) // step)
                for symbol in range(ARGUMENT, ENV):
                    if c[symbol] - b[symbol] != b[symbol] - a[symbol]:
                        return 0
            if moving > 1:
                return 0
        return limit if limit < 1 << 60 else 0

    def _jump(self, leader: Stream, middle: Snapshot, last: Snapshot, rounds: int) -> None:
        run = self._run
        by = rounds * (last.now - middle.now)
        place = 0
        for i, stream in enumerate(run.streams):
            for frame in stream.frames:
                b, c = middle.envs[place], last.envs[place]
                place += 1
                levels = [level for level, _ in frame.code.enclosing[frame.pc]]
                for symbol in (*levels, *range(ARGUMENT, ENV)):
                    frame.env[symbol] += rounds * (c[symbol] - b[symbol])
            if stream.parked >= 0:
                stream.need += rounds * (last.needs[i] - middle.needs[i])
            if stream is not leader and stream.op is not None:
                stream.needs = run.needs_of(stream, stream.op)
            old, new = middle.counters[i], last.counters[i]
            stream.executed += rounds * (new[0] - old[0])
            stream.active += rounds * (new[1] - old[1])
            stream.port_stall += rounds * (new[2] - old[2])
            stream.table_loads += rounds * (new[3] - old[3])
            if not stream.done:
                stream.free += by
                stream.pending = [(t + by, op) for t, op in stream.pending]
                if stream.stalled >= 0:
                    stream.stalled += by
        for semaphore, was, value in zip(
            run.semaphores, middle.semaphores, last.semaphores, strict=True
        ):
            past = last.now - run.semaphore_ns
            if value != was or semaphore.times[-1] > past:
                semaphore.jump(past, by, rounds * (value - was))
        run.port_free = [free + by for free in run.port_free]
        run.heap[:] = [(time + by, order, index) for time, order, index in run.heap]
        heapify(run.heap)
        run.shift_dma(by)
        run.barriers += rounds * (last.barriers - middle.barriers)
        run.idle.repeat(middle.idle, last.idle, rounds)
        if run.total > run.now:
            run.total += by
        run.now += by
