"""Modulo scheduling: start times of one round of a loop that is begun anew every II ns."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine, Port
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.schedule import Work, delay

_DMA = -1  # the DMA engines together, as a resource


@dataclass(frozen=True, slots=True)
class Edge:
    """Instruction `after` follows `before` of the round `distance` earlier."""

    before: int
    after: int
    distance: int
    data: bool


def load(works: Sequence[Work]) -> dict[str, float]:
    """Busy time (ns) of one round by engine, shared port and all DMA engines together."""
    out: dict[str, float] = {}
    for w in works:
        name = Engine(w.engine).name.lower()
        out[name] = out.get(name, 0.0) + w.issue
        out["dma"] = out.get("dma", 0.0) + w.dma
        for port in w.ports:
            out[f"{port.value} port"] = out.get(f"{port.value} port", 0.0) + w.port_time
    return out


class _Table:
    """The busy intervals of a resource in [0, ii)."""

    def __init__(self, ii: float) -> None:
        self.ii = ii
        self.busy: list[tuple[float, float]] = []

    def find(self, earliest: float, width: float) -> float | None:
        """The first time from `earliest` on that is free for `width`, within one interval."""
        if not self.busy or width <= 0:
            return earliest
        ii = self.ii
        m = earliest % ii
        k = bisect_right(self.busy, (m, float("inf"))) - 1
        now = m
        n = len(self.busy)
        if k >= 0:
            now = max(now, self.busy[k][1])
        else:
            now = max(now, self.busy[-1][1] - ii)
        for step in range(1, n + 1):
            turn, i = divmod(k + step, n)
            start, end = self.busy[i][0] + turn * ii, self.busy[i][1] + turn * ii
            if start - now >= width:
                break
            now = max(now, end)
        else:
            return None
        return earliest - m + now if now < m + ii else None

    def take(self, at: float, width: float) -> None:
        """Reserve; what reaches over the end begins again at 0."""
        if width <= 0:
            return
        m = at % self.ii
        if m + width <= self.ii:
            insort(self.busy, (m, m + width))
        else:
            insort(self.busy, (m, self.ii))
            insort(self.busy, (0.0, m + width - self.ii))


def modulo_schedule(
    works: Sequence[Work], edges: Sequence[Edge], ii: float, machine: Machine
) -> list[float] | None:
    """Start times (ns, the first is 0), or None where a recurrence needs a longer interval.

    Reservations are a guide: where an engine has no gap left that is wide enough, the instruction
    starts when its operands are there, and the hardware will delay it.
    """
    n = len(works)
    successors: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    into: list[list[tuple[int, int, float]]] = [[] for _ in range(n)]
    out: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e in edges:
        d = delay(works[e.before], works[e.after], e.data, machine)
        into[e.after].append((e.before, e.distance, d))
        out[e.before].append((e.after, e.distance))
        if e.distance == 0:
            successors[e.before].append((e.after, d))
    tail = [0.0] * n
    for i in range(n - 1, -1, -1):  # program order is topological
        tail[i] = max((d + tail[j] for j, d in successors[i]), default=works[i].latency)
    tables: dict[int | Port, _Table] = {}
    start = [0.0] * n
    placed = [False] * n
    for i in sorted(range(n), key=lambda i: (-tail[i], i)):
        w = works[i]
        earliest = 0.0
        for p, distance, d in into[i]:
            if placed[p]:
                earliest = max(earliest, start[p] + d - distance * ii)
        needs: list[tuple[int | Port, float]] = [(w.engine, w.issue)]
        needs += [(port, w.port_time) for port in sorted(w.ports, key=lambda p: p.value)]
        if w.dma:
            needs.append((_DMA, w.dma))
        at = _fit(tables, needs, earliest, ii)
        start[i] = at
        placed[i] = True
        for key, width in needs:
            tables.setdefault(key, _Table(ii)).take(at, width)
        for j, distance in out[i]:
            if placed[j] and start[j] + distance * ii <= at:
                return None
    first = min(start)
    return [s - first for s in start]


def _fit(
    tables: dict[int | Port, _Table],
    needs: Sequence[tuple[int | Port, float]],
    earliest: float,
    ii: float,
) -> float:
    at = earliest
    for _ in range(8):
        before = at
        for key, width in needs:
            found = tables.setdefault(key, _Table(ii)).find(at, width)
            if found is None:
                return earliest
            at = found
        if at == before:
            return at
    return at
