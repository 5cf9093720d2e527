"""Represent the state of a timing run: streams, semaphores and recorded intervals."""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import ARGUMENT, COUNTER, COUNTERS, Affine
from neuronir.targets.simulator.idle import Cause
from neuronir.targets.simulator.timing_code import Code, Op

ENV = COUNTER + COUNTERS
"""Symbols in timing: loop levels, arguments and counters; registers are zero."""


@dataclass(slots=True, eq=False)
class Frame:
    """A function that a stream is in: its code, the next step and the values of its symbols."""

    code: Code
    pc: int
    env: list[int]


@dataclass(slots=True, eq=False)
class Stream:
    """The progress of one engine. `op` is fetched and not yet started."""

    index: int
    engine: Engine
    frames: list[Frame]
    free: float = 0.0  # the earliest time at which the engine may start something
    op: Op | None = None
    needs: list[tuple[int, int]] = field(default_factory=list)  # waits of `op`
    parked: int = -1  # the semaphore that it is parked on
    need: int = 0  # the value for which it is parked
    stalled: float = -1.0  # when `op` first found a port busy, -1 if it has not
    cause: Cause = Cause.PROGRAM  # what `op` waited for last, and the op that ended the wait
    maker: int = -1
    idle: float = 0.0  # DmaEngines.idle when it last started a transfer; in the end, since then
    pending: list[tuple[float, Op]] = field(default_factory=list)
    table: str = ""
    visible: float = 0.0  # when the last result of a compute instruction is visible
    runs: dict[int, int] = field(default_factory=dict)  # by counter: runs of its loop so far
    trips: dict[int, int] = field(default_factory=dict)  # by counter: iterations of this run
    done: bool = False
    in_barrier: bool = False
    # measured
    executed: int = 0
    active: float = 0.0
    port_stall: float = 0.0
    table_loads: int = 0
    finish: float = 0.0


class Semaphore:
    """The history of a counter: its values and their times. Increments are visible in issue
    order.
    """

    __slots__ = ("causes", "makers", "times", "values", "waiters")

    def __init__(self) -> None:
        self.times: list[float] = [0.0]
        self.values: list[int] = [0]
        self.causes: list[int] = [-1]
        self.makers: list[int] = [-1]
        self.waiters: list[Stream] = []

    def add(self, time: float, amount: int, cause: int, maker: int) -> None:
        """Add `amount` at `time`, or when the last addition is visible if that is later.

        `maker` is the number of the adding op, `cause` the number of its recorded interval.
        """
        self.times.append(max(time, self.times[-1]))
        self.values.append(self.values[-1] + amount)
        self.causes.append(cause)
        self.makers.append(maker)

    def reached(self, value: int) -> int:
        """Return the index in `times` at which the counter has reached `value`; it must have."""
        return bisect_left(self.values, value)

    def jump(self, now: float, by: float, amount: int) -> None:
        """Delay what has not happened by `now` by `by` ns, after `amount` more increments."""
        future = bisect_right(self.times, now)
        last = self.values[future - 1]
        self.times[future:] = [now + by, *(t + by for t in self.times[future:])]
        self.values[future:] = [last + amount, *(v + amount for v in self.values[future:])]
        self.causes.insert(future, -1)
        self.makers.insert(future, self.makers[future - 1])


class Recording:
    """Intervals of executed instructions, as compact arrays, in issue order; times in ns.

    An instruction issues at `starts`, works from `begins` to `ends` (a transfer: first to last
    byte), and its result is visible at `results`. `ops` and `streams` are numbers. `flows` are
    (producer, consumer) indices: the semaphore wait that let the consumer start.
    """

    def __init__(self) -> None:
        self.starts = array("d")
        self.begins = array("d")
        self.ends = array("d")
        self.results = array("d")
        self.ops = array("i")
        self.streams = array("b")
        self.flows: list[tuple[int, int]] = []

    def add(self, stream: int, op: int, start: float, end: float, result: float) -> int:
        """Record one interval; return its index."""
        self.starts.append(start)
        self.begins.append(start)
        self.ends.append(end)
        self.results.append(result)
        self.ops.append(op)
        self.streams.append(stream)
        return len(self.ops) - 1

    def moved(self, place: int, begin: float, end: float, result: float) -> None:
        """Record that a transfer moved from `begin` to `end` and was complete at `result`."""
        self.begins[place] = begin
        self.ends[place] = end
        self.results[place] = result


def value_of(const: int, terms: tuple[tuple[int, int], ...], env: list[int]) -> int:
    """Evaluate an affine expression; registers count as zero."""
    for symbol, coefficient in terms:
        if symbol < ENV:
            const += coefficient * env[symbol]
    return const


def environment(arguments: tuple[Affine, ...], env: list[int]) -> list[int]:
    """Return the symbols of a called function."""
    new = [0] * ENV
    new[COUNTER:] = env[COUNTER:]
    for i, argument in enumerate(arguments):
        new[ARGUMENT + i] = value_of(argument.const, argument.terms, env)
    return new
