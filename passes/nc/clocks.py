"""Track which instructions are known to be complete, and omit waits that this implies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine
from neuronir.passes.nc.carried import Dependence
from neuronir.passes.nc.listing import Node

ENGINES = int(Engine.DMA0)
"""Engines with streams, in order. Transfers complete in any order, and each has its own bit."""


@dataclass(frozen=True, slots=True)
class Clock:
    """For each engine the last instruction known to be complete, and a set of DMA transfers.

    Inside a loop, knowledge about its instructions refers to the current iteration; after the loop,
    to the last iteration.
    """

    engines: tuple[int, ...]
    transfers: int

    def join(self, other: "Clock") -> "Clock":
        """Return the union of the knowledge of both clocks."""
        if other.transfers | self.transfers == self.transfers and all(
            a >= b for a, b in zip(self.engines, other.engines, strict=True)
        ):
            return self
        return Clock(tuple(map(max, self.engines, other.engines)), self.transfers | other.transfers)


NOTHING = Clock((-1,) * ENGINES, 0)


@dataclass(slots=True)
class Waits:
    """By position: the instructions to wait for, and the clocks at the start and at the end."""

    waits: list[list[Dependence]]
    start: list[Clock]
    done: list[Clock]
    bit: dict[int, int]  # of transfers


def find_waits(
    nodes: Sequence[Node], dependences: Sequence[Sequence[Dependence]], loops: Sequence[int]
) -> Waits:
    """Return the waits that enforce every dependence.

    `nodes` are the instructions by position, `loops` the first position of each loop. An engine
    runs and completes instructions in order, so waiting for one means waiting for all before it.
    Transfers are only started in order, before earlier compute instructions of the engine have
    ended. In straight-line code no wait is implied by the others.
    """
    bit: dict[int, int] = {}
    issued: dict[int, Clock] = {}
    out = Waits([], [], [], bit)
    records = [n.record for n in nodes]
    engines = [int(r.engine) if r is not None else 0 for r in records]
    for j, engine in enumerate(engines):
        record = records[j]
        stream = int(record.stream) if record is not None else engine
        known = issued.get(stream, NOTHING)
        waits: list[Dependence] = []
        near = [d for d in dependences[j] if d.distance == 0]
        for d in sorted(near, key=lambda d: d.before, reverse=True):
            p = d.before
            other = engines[p]
            if other < ENGINES:
                if other == engine or known.engines[other] >= p:
                    continue
            elif known.transfers >> bit[p] & 1:
                continue
            waits.append(d)
            known = known.join(out.done[p])
        waits += _carried(dependences[j], known, engines, engine, bit, loops)
        issued[stream] = known
        if record is not None and record.opcode == "barrier":
            known = _everything(engines[:j], bit)
            issued = dict.fromkeys(range(ENGINES), known)
        out.waits.append(waits)
        out.start.append(known)
        out.done.append(_with(known, j, engine, bit))
    for j, waits in enumerate(out.waits):
        if any(d.before == j for d in waits) and follows_itself(nodes, out, j):
            out.waits[j] = [d for d in waits if d.before != j]
    return out


def _everything(engines: Sequence[int], bit: Mapping[int, int]) -> Clock:
    """Return the clock after a barrier: everything before it is complete."""
    last = [-1] * ENGINES
    for place, engine in enumerate(engines):
        if engine < ENGINES:
            last[engine] = place
    return Clock(tuple(last), (1 << len(bit)) - 1)


def follows_itself(nodes: Sequence[Node], found: Waits, j: int) -> bool:
    """Return whether waits ensure that transfer `j` of the previous iteration ends before `j`
    starts.

    This holds if an instruction that it waits for, in either iteration, has itself waited for the
    transfer of the previous iteration.
    """
    innermost = nodes[j].inside[-1]
    for d in found.waits[j]:
        if d.before == j or d.loop != innermost:
            continue
        if d.distance == 1 and d.before > j:
            if found.done[d.before].transfers >> found.bit[j] & 1:
                return True
        elif d.distance == 0 and any(
            e.before == j and e.distance == 1 and e.loop == innermost for e in found.waits[d.before]
        ):
            return True
    return False


def _carried(
    dependences: Sequence[Dependence],
    known: Clock,
    engines: Sequence[int],
    engine: int,
    bit: dict[int, int],
    loops: Sequence[int],
) -> list[Dependence]:
    """Return the waits for earlier iterations: for each engine and loop only the latest
    instruction.
    """
    latest: dict[tuple[int, int], Dependence] = {}
    out: list[Dependence] = []
    for d in dependences:
        if d.distance == 0:
            continue
        other = engines[d.before]
        if other >= ENGINES:
            # Knowledge about a transfer of this iteration also holds for earlier iterations.
            if d.before not in bit or not known.transfers >> bit[d.before] & 1:
                out.append(d)
            continue
        if other == engine or known.engines[other] >= loops[d.loop]:
            continue
        best = latest.get((other, d.loop))
        if best is None or (-best.distance, best.before) < (-d.distance, d.before):
            latest[(other, d.loop)] = d
    return sorted([*latest.values(), *out], key=lambda d: (d.loop, d.before))


def _with(known: Clock, j: int, engine: int, bit: dict[int, int]) -> Clock:
    if engine >= ENGINES:
        bit[j] = len(bit)
        return Clock(known.engines, known.transfers | 1 << bit[j])
    engines = list(known.engines)
    engines[engine] = j
    return Clock(tuple(engines), known.transfers)
