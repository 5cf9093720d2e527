"""How fast the processor is now, for tests with bounds in seconds of processor time."""

import time
from statistics import fmean

REFERENCE = 0.08
"""Seconds of processor time of `_work` on the machine for which the bounds are set. There, ten
million additions in a loop take 0.65 s."""


def within(seconds: float, most: float) -> bool:
    """Return whether processor time is below a bound in seconds on the reference machine.

    Processor time grows with the load and the clock of a shared machine: the same compile took from
    1 to 1.5 times as long within two hours. Ask right after the work that took `seconds`.
    """
    return seconds < most or seconds < most * _slowdown()


def _slowdown() -> float:
    """Return how many times longer the processor takes now than the reference."""
    return fmean(_seconds() for _ in range(5)) / REFERENCE


def _seconds() -> float:
    began = time.process_time()
    _work()
    return time.process_time() - began


class _Item:
    """An object such as a compile makes by the thousand."""

    __slots__ = ("number", "text", "before")

    def __init__(self, number: int, text: str, before: "_Item | None") -> None:
        self.number, self.text, self.before = number, text, before


def _work() -> int:
    """Make objects, put them into a table and look them up in another order."""
    table: dict[tuple[int, str], _Item] = {}
    last = None
    for number in range(60_000):
        text = str(number % 977)
        last = table[number, text] = _Item(number, text, last)
    total = 0
    for number in range(0, 60_000 * 7919, 7919):
        place = number % 60_000
        found = table.get((place, str(place % 977)))
        if isinstance(found, _Item) and found.before is not None:
            total += found.before.number
    return total
