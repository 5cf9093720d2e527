"""Track happens-before relations with vector clocks over engines and DMA transfers.

A clock has one component for each engine (the number of its instructions that are known to be
complete) and one for each semaphore (how far it is known to have been counted up by transfers).
Engines complete compute instructions in order. An engine starts its transfers in order, but before
earlier compute instructions are complete, and transfers end in any order. A transfer therefore
knows only what its own engine had waited for, and is complete only for instructions that waited for
its semaphore.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import SEMAPHORE_BITS, Instruction
from neuronir.dialects.support.errors import NeuronError

Clock = NDArray[np.int64]
_ENGINES = len(Engine)
NEVER = 1 << 62
_HISTORY = 1 << 14
"""Limit of remembered updates of one semaphore.

A wait for an older one adds no information: in a loop it repeats an earlier wait of its engine.
"""


class Start(NamedTuple):
    """An instruction that starts: what it knows, and how others know that it is complete.

    An instruction knows it if its clock has at least `number` in `component`. `unordered` is a
    semaphore that it updates although an earlier update may still be pending (waits for it are then
    ambiguous), else None.
    """

    clock: Clock
    component: int
    number: int
    unordered: int | None


class Clocks:
    """The clocks of all engines during a walk of a program."""

    def __init__(self, semaphores: int) -> None:
        self._clocks = {e: np.zeros(_ENGINES + semaphores, np.int64) for e in Engine}
        # For each engine, how many of its own instructions it has waited for.
        self._awaited = dict.fromkeys(Engine, 0)
        self._values: list[list[int]] = [[] for _ in range(semaphores)]
        self._known: list[list[Clock]] = [[] for _ in range(semaphores)]
        self._forgotten = [0] * semaphores  # the highest value whose update is forgotten
        # Whether transfers increment it in parts: then only its final value carries information.
        self._in_parts = [False] * semaphores
        self._last: list[tuple[int, int] | None] = [None] * semaphores

    def issue(self, instruction: Instruction, env: Sequence[int]) -> Start:
        """Start an instruction whose waits are known to be satisfied."""
        engine = instruction.stream
        clock = self._clocks[engine]
        for wait in instruction.waits:
            value = wait.value.at(env)
            if value <= self._forgotten[wait.semaphore]:
                continue
            if self._in_parts[wait.semaphore]:
                at = bisect_right(self._values[wait.semaphore], value) - 1
                if at < 0:
                    continue
            else:
                at = bisect_left(self._values[wait.semaphore], value)
            known = self._known[wait.semaphore][at]
            np.maximum(clock, known, out=clock)
            self._awaited[engine] = max(self._awaited[engine], int(known[engine]))
        if instruction.engine.is_dma:
            clock = clock.copy()
            clock[engine] = self._awaited[engine]
        unordered: int | None = None
        for update in instruction.updates:
            last = self._last[update.semaphore]
            if last is not None and clock[last[0]] < last[1]:
                unordered = update.semaphore
        if instruction.engine.is_dma:
            return self._transfer(instruction, clock, unordered)
        number = int(clock[engine]) + 1
        clock[engine] = number
        for update in instruction.updates:
            self._count(update.semaphore, update.amount, clock.copy(), (int(engine), number))
        return Start(clock, int(engine), number, unordered)

    def _transfer(self, instruction: Instruction, clock: Clock, unordered: int | None) -> Start:
        if not instruction.updates:
            return Start(clock, int(instruction.engine), NEVER, unordered)
        done = clock.copy()
        marks: list[tuple[int, int]] = []
        for update in instruction.updates:
            values = self._values[update.semaphore]
            mark = (values[-1] if values else 0) + update.amount
            done[_ENGINES + update.semaphore] = mark
            self._in_parts[update.semaphore] = True
            marks.append((_ENGINES + update.semaphore, mark))
        for update, mark_of in zip(instruction.updates, marks, strict=True):
            self._count(update.semaphore, update.amount, done, mark_of)
        return Start(clock, *marks[0], unordered)

    def _count(self, semaphore: int, amount: int, known: Clock, mark: tuple[int, int]) -> None:
        values = self._values[semaphore]
        values.append((values[-1] if values else 0) + amount)
        if values[-1] >> SEMAPHORE_BITS:
            raise NeuronError(
                "NIR_SIM006",
                f"semaphore {semaphore} counts up to {values[-1]}; it has {SEMAPHORE_BITS} bits",
            )
        self._known[semaphore].append(known)
        if len(values) > _HISTORY:
            half = _HISTORY // 2
            self._forgotten[semaphore] = values[half - 1]
            del values[:half], self._known[semaphore][:half]
        self._last[semaphore] = mark

    def meet(self) -> None:
        """Handle a barrier: every engine knows what any engine knows (except transfers in
        flight).
        """
        together = np.maximum.reduce(list(self._clocks.values()))
        for engine, clock in self._clocks.items():
            clock[:] = together
            self._awaited[engine] = int(together[engine])
