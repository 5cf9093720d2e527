"""Walk a program: every engine's stream of instructions, synchronised by semaphores.

The caller executes instructions (`execute`); the walker only decides when. The semaphores allow
every order that it can choose, so a correct program has a single result.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    COUNTER,
    COUNTERS,
    MAX_SEMAPHORES,
    REGISTER,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.iterations import count_iteration
from neuronir.targets.simulator.messages import describe, origin

Env = list[int]
"""Values of all symbols: loop levels, arguments, registers (instruction.py)."""
ENV_SIZE = COUNTER + COUNTERS
Order = Literal["forward", "reversed"] | int
DmaMode = Literal["eager", "on_wait"]


@dataclass(slots=True, eq=False)
class Node:
    """One instruction of a function's stream; `payload` belongs to the code that executes it."""

    instruction: Instruction
    function: str
    number: int
    payload: Any = None
    count: int = 0  # how often it ran


@contextmanager
def payloads(nodes: Sequence[Node], prepare: Callable[[Node], Any]) -> Iterator[None]:
    """Give each node its payload in this context only.

    Payloads are in cycles, which would keep the memories of a run until the next collection.
    """
    try:
        for node in nodes:
            node.payload = prepare(node)
        yield
    finally:
        for node in nodes:
            node.payload = None


@dataclass(slots=True, eq=False)
class LoopNode:
    """A loop over nodes."""

    trip_count: int
    body: list["Step"]
    count: int = -1  # the symbol of the register with the trip count
    counter: int = -1  # the symbol that counts iterations
    again: int = -1  # the symbol of the register with the condition of the next iteration


def iterations(step: LoopNode, env: "Env", assumed: int | None = None) -> Iterator[int]:
    """Yield the number of each iteration of a loop that begins now.

    A loop with a condition has `assumed` iterations, if that is given. Raises NIR_SIM036 if it has
    more than the limit.
    """
    if step.again < 0 or assumed is not None:
        trips = step.trip_count if step.count < 0 else max(env[step.count], 0)
        yield from range(trips if step.again < 0 or assumed is None else assumed)
        return
    number, more = 0, env[step.count]
    while more:
        following = count_iteration(number)
        yield number
        number, more = following, env[step.again]


@dataclass(slots=True, eq=False)
class CallNode:
    """A call of this engine's stream of another function."""

    function: str
    arguments: tuple[Affine, ...]


Step = Node | LoopNode | CallNode
Execute = Callable[[Node, Env], None]


def new_env() -> Env:
    """Return all symbols zero."""
    return [0] * ENV_SIZE


@dataclass(slots=True, eq=False)
class Stream:
    """The position of one engine in the program.

    `trips` are the trip counts of loops with a runtime count, by counter, one for each run.
    """

    engine: Engine
    env: Env = field(default_factory=new_env)
    current: Node | None = None
    rest: Iterator[Node] = field(default_factory=lambda: iter(()))
    trips: dict[int, list[int]] = field(default_factory=dict)

    def advance(self) -> None:
        """Advance to the next instruction; `current` is None at the end."""
        self.current = next(self.rest, None)


class Walker:
    """The streams of a program, compiled once for walking."""

    def __init__(self, program: Program, assumed: int | None = None) -> None:
        """Compile the streams; loops with a condition have `assumed` iterations, if given."""
        self.program = program
        self.assumed = assumed
        self.nodes: list[Node] = []
        self._steps: dict[tuple[str, Engine], list[Step]] = {}
        if program.entry not in program.streams:
            raise NeuronError("NIR_SIM006", f"the program has no function '{program.entry}'")
        self._check_calls(program.entry, [])
        self.semaphores = program.semaphores
        if not 0 <= self.semaphores <= MAX_SEMAPHORES:
            raise NeuronError(
                "NIR_SIM006",
                f"the program has {self.semaphores} semaphores; the limit is {MAX_SEMAPHORES}",
            )
        for function, streams in program.streams.items():
            for engine, items in streams.items():
                self._steps[function, engine] = self._compile(function, engine, items)
        self.trips: dict[int, list[int]] = {}  # of the last run (Stream.trips)
        self.engines = sorted({engine for _, engine in self._steps})

    def _check_calls(self, function: str, callers: list[str]) -> None:
        if function not in self.program.streams:
            raise NeuronError("NIR_SIM006", f"call of the unknown function '{function}'")
        if function in callers:
            raise NeuronError("NIR_SIM006", f"function '{function}' calls itself")

        def callees(items: list[Item]) -> Iterator[str]:
            for item in items:
                if isinstance(item, Loop):
                    yield from callees(item.body)
                elif isinstance(item, Call):
                    yield item.function

        names = {n for s in self.program.streams[function].values() for n in callees(s)}
        for name in sorted(names):
            self._check_calls(name, [*callers, function])

    def _compile(self, function: str, engine: Engine, items: list[Item]) -> list[Step]:
        steps: list[Step] = []
        for item in items:
            if isinstance(item, Loop):
                body = self._compile(function, engine, item.body)
                symbols = (-1, -1, -1)
                if item.count >= 0:
                    again = REGISTER + item.again if item.again >= 0 else -1
                    symbols = REGISTER + item.count, COUNTER + item.counter, again
                steps.append(LoopNode(item.trip_count, body, *symbols))
            elif isinstance(item, Call):
                steps.append(CallNode(item.function, item.arguments))
            else:
                if item.stream != engine:
                    raise NeuronError(
                        "NIR_SIM006",
                        f"the stream of {engine.name.lower()} holds an instruction of another "
                        f"engine: {describe(item)}",
                    )
                node = Node(item, function, len(self.nodes))
                self.nodes.append(node)
                steps.append(node)
                used = [w.semaphore for w in item.waits] + [u.semaphore for u in item.updates]
                for semaphore in used:
                    if not 0 <= semaphore < self.semaphores:
                        raise NeuronError(
                            "NIR_SIM006",
                            f"semaphore {semaphore} is not one of the {self.semaphores} of the "
                            f"program: {describe(item)}",
                        )
        return steps

    def _walk(self, stream: Stream, steps: list[Step], level: int) -> Iterator[Node]:
        env = stream.env
        for step in steps:
            if type(step) is Node:
                yield step
            elif type(step) is LoopNode:
                done = 0
                for i in iterations(step, env, self.assumed):
                    env[level] = i
                    yield from self._walk(stream, step.body, level + 1)
                    done = i + 1
                    if step.counter >= 0:
                        env[step.counter] += 1
                if step.counter >= 0:
                    stream.trips.setdefault(step.counter - COUNTER, []).append(done)
            elif type(step) is CallNode:
                inner = [0] * len(env)
                for i, argument in enumerate(step.arguments):
                    inner[ARGUMENT + i] = argument.at(env)
                inner[REGISTER:] = env[REGISTER:]
                stream.env = inner
                body = self._steps.get((step.function, stream.engine), [])
                yield from self._walk(stream, body, 0)
                env[REGISTER:] = inner[REGISTER:]
                stream.env = env

    def streams(self) -> list[Stream]:
        """Return every engine at its first instruction."""
        out = []
        for engine in self.engines:
            stream = Stream(engine)
            steps = self._steps.get((self.program.entry, engine), [])
            stream.rest = self._walk(stream, steps, 0)
            stream.advance()
            out.append(stream)
        return out

    def run(
        self,
        execute: Execute,
        order: Order = "forward",
        dma_mode: DmaMode = "eager",
        meet: Callable[[], None] | None = None,
        starve: Engine | None = None,
    ) -> list[int]:
        """Run the program to its end; return the final values of the semaphores.

        Engines take turns in `order` (their numbers, the reverse, or shuffled by a seed), each
        continuing until it must wait (or for a random time, with a seed). `dma_mode="on_wait"`
        performs a DMA only when some engine cannot continue without it. The engine `starve` only
        advances when no other can. `meet` is called when all unfinished engines have passed a
        barrier. Raises NIR_SIM004 on a deadlock.
        """
        semaphores = [0] * self.semaphores
        streams = self.streams()
        self.trips = streams[0].trips if streams else {}
        if order == "reversed":
            streams.reverse()
        chance = random.Random(order) if isinstance(order, int) else None
        pending: list[tuple[Node, Env]] = []
        late = dma_mode == "on_wait"
        hungry = True  # the starved engine must wait until a whole turn made no progress
        while True:
            progress = False
            if chance is not None:
                chance.shuffle(streams)
            for stream in streams:
                burst = chance.randint(1, 16) if chance is not None else -1
                if stream.engine == starve:
                    burst = 0 if progress or hungry else 1
                while burst:
                    node = stream.current
                    if node is None or node.instruction.opcode == "barrier":
                        break
                    instruction = node.instruction
                    if instruction.waits and _blocked(instruction, stream.env, semaphores):
                        break
                    if late and instruction.engine.is_dma:
                        pending.append((node, stream.env.copy()))
                    else:
                        execute(node, stream.env)
                        node.count += 1
                        for update in instruction.updates:
                            semaphores[update.semaphore] += update.amount
                    progress = True
                    burst -= 1
                    stream.current = next(stream.rest, None)
            if progress:
                hungry = True
                continue
            if hungry and starve is not None:
                hungry = False
                continue
            waiting = [s for s in streams if s.current is not None]
            if pending:
                self._complete(pending, waiting, semaphores, execute)
            elif not waiting:
                return semaphores
            elif all(_at_barrier(s, semaphores) for s in waiting):
                for stream in waiting:
                    node = stream.current
                    if node is not None:
                        execute(node, stream.env)
                        node.count += 1
                        for update in node.instruction.updates:
                            semaphores[update.semaphore] += update.amount
                    stream.advance()
                if meet is not None:
                    meet()
            else:
                raise self._deadlock(waiting, semaphores)

    def _complete(
        self,
        pending: list[tuple[Node, Env]],
        waiting: list[Stream],
        semaphores: list[int],
        execute: Execute,
    ) -> None:
        """Perform the oldest transfer for which an engine waits, else the oldest."""
        wanted = {
            wait.semaphore
            for stream in waiting
            if stream.current is not None
            for wait in stream.current.instruction.waits
            if semaphores[wait.semaphore] < wait.value.at(stream.env)
        }
        chosen = 0
        for i, (node, _) in enumerate(pending):
            if any(u.semaphore in wanted for u in node.instruction.updates):
                chosen = i
                break
        node, env = pending.pop(chosen)
        execute(node, env)
        node.count += 1
        for update in node.instruction.updates:
            semaphores[update.semaphore] += update.amount

    def _deadlock(self, waiting: list[Stream], semaphores: list[int]) -> NeuronError:
        lines = []
        for stream in sorted(waiting, key=lambda s: s.engine):
            node = stream.current
            if node is None:
                continue
            waits = [
                f"S[{w.semaphore}] >= {w.value.at(stream.env)} (is {semaphores[w.semaphore]})"
                for w in node.instruction.waits
                if semaphores[w.semaphore] < w.value.at(stream.env)
            ]
            if node.instruction.opcode == "barrier":
                waits = ["the other engines at a barrier"]
            lines.append(
                f"  {stream.engine.name.lower()} waits for {', '.join(waits)} at "
                f"{describe(node.instruction, stream.env)} from "
                f"{origin(self.program.sources, node.instruction)}"
            )
        return NeuronError("NIR_SIM004", "deadlock: no engine can go on\n" + "\n".join(lines))


def _blocked(instruction: Instruction, env: Env, semaphores: list[int]) -> bool:
    for wait in instruction.waits:
        value = wait.value.const
        for symbol, coefficient in wait.value.terms:
            value += coefficient * env[symbol]
        if semaphores[wait.semaphore] < value:
            return True
    return False


def _at_barrier(stream: Stream, semaphores: list[int]) -> bool:
    node = stream.current
    if node is None or node.instruction.opcode != "barrier":
        return False
    return not _blocked(node.instruction, stream.env, semaphores)
