"""Log where engines were idle, and what they waited for.

Idle time of an engine before an instruction is logged with the last thing for which the instruction
waited. For the transfers of an engine, idle time is the time before a transfer was started in which
the DMA engines had nothing to move.
"""

from array import array
from enum import IntEnum
from typing import NamedTuple


class Cause(IntEnum):
    """The cause of a wait."""

    PROGRAM = 0  # nothing: it follows the previous one
    SEMAPHORE = 1  # an instruction of another engine, or a transfer
    RESULT = 2  # the result of an earlier instruction of its engine
    TABLE = 3  # its activation function set
    PORT = 4  # a memory port that another engine held
    BARRIER = 5
    SLOW = 6  # not at all: a transfer that moves leaves engines idle
    SMALL = 7  # another small transfer
    FIRST = 8  # an instruction of another engine, or a transfer, before its own first instruction


TRANSFERS = 32
"""The number of a stream in a Wait, for the transfers that it starts."""


class Wait(NamedTuple):
    """The waiting stream (or TRANSFERS + stream), the source of the instruction, and the cause of
    the wait.

    `maker` is the number of the op that ended the wait, or -1.
    """

    stream: int
    source: int
    cause: Cause
    maker: int


Key = tuple[int, int, Cause, int]
"""A Wait while it is logged: plain tuples are faster to create."""


class IdleLog:
    """Idle times in ns in the order of their end; compact, because there is one per instruction."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._waits: list[Key] = []
        self._keys = array("i")
        self._times = array("d")

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, wait: Key, time: float) -> None:
        """Log an idle time."""
        number = self._numbers.get(wait)
        if number is None:
            number = self._numbers[wait] = len(self._waits)
            self._waits.append(wait)
        self._keys.append(number)
        self._times.append(time)

    def repeat(self, begin: int, end: int, times: int) -> None:
        """Log the entries from `begin` to `end` again, multiplied by `times`."""
        for number, time in self._sums(begin, end).items():
            self._keys.append(number)
            self._times.append(times * time)

    def sums(self) -> dict[Wait, float]:
        """Return the totals by wait."""
        found = self._sums(0, len(self._keys))
        return {Wait(*self._waits[n]): time for n, time in found.items()}

    def _sums(self, begin: int, end: int) -> dict[int, float]:
        found: dict[int, float] = {}
        for at in range(begin, end):
            number = self._keys[at]
            found[number] = found.get(number, 0.0) + self._times[at]
        return found
