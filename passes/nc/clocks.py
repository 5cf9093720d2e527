"""What is known to be complete, and which waits of straight-line code that makes superfluous."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine

ENGINES = int(Engine.DMA0)
"""In-order engines; what runs on a DMA queue completes in any order and has a bit of its own."""


@dataclass(frozen=True, slots=True)
class Clock:
    """For each engine the last instruction known to be complete, and a set of DMA transfers."""

    engines: tuple[int, ...]
    transfers: int

    def join(self, other: "Clock") -> "Clock":
        """What is known by either."""
        if other.transfers | self.transfers == self.transfers and all(
            a >= b for a, b in zip(self.engines, other.engines, strict=True)
        ):
            return self
        return Clock(tuple(map(max, self.engines, other.engines)), self.transfers | other.transfers)


NOTHING = Clock((-1,) * ENGINES, 0)


@dataclass(slots=True)
class Waits:
    """For each instruction: whom it waits for, and what is known when it starts and ends."""

    waits: list[list[int]]
    start: list[Clock]
    done: list[Clock]
    bit: dict[int, int]  # of transfers


def find_waits(engines: Sequence[int], predecessors: Sequence[dict[int, bool]]) -> Waits:
    """The waits that make every dependence hold, none of which follows from the others.

    An engine runs in order and completes in order, so waiting for an instruction is waiting for all
    before it; a queue only starts in order.
    """
    bit: dict[int, int] = {}
    issued: dict[int, Clock] = {}
    out = Waits([], [], [], bit)
    for j, engine in enumerate(engines):
        known = issued.get(engine, NOTHING)
        waits: list[int] = []
        for p in sorted(predecessors[j], reverse=True):
            other = engines[p]
            if other < ENGINES:
                if other == engine or known.engines[other] >= p:
                    continue
            elif known.transfers >> bit[p] & 1:
                continue
            waits.append(p)
            known = known.join(out.done[p])
        issued[engine] = known
        out.waits.append(waits)
        out.start.append(known)
        out.done.append(_with(known, j, engine, bit))
    return out


def _with(known: Clock, j: int, engine: int, bit: dict[int, int]) -> Clock:
    if engine >= ENGINES:
        bit[j] = len(bit)
        return Clock(known.engines, known.transfers | 1 << bit[j])
    engines = list(known.engines)
    engines[engine] = j
    return Clock(tuple(engines), known.transfers)
