"""Compute modulo schedules: start times of one iteration of a loop with initiation interval II."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from neuronir.dialects.nc.enums import Engine, Port
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.list_schedule import Work, delay

_DMA = -1  # the DMA engines together, as one resource
_PLACEMENTS = 6
"""Average number of placements per instruction before an interval is abandoned."""
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Edge:
    """Instruction `after` follows `before` of the iteration `distance` earlier."""

    before: int
    after: int
    distance: int
    data: bool


def load(works: Sequence[Work]) -> dict[str, float]:
    """Return the busy time (ns) of one iteration by engine, shared port and all DMA engines
    together.
    """
    out: dict[str, float] = {}
    for w in works:
        name = Engine(w.engine).name.lower()
        out[name] = out.get(name, 0.0) + w.issue
        out["dma"] = out.get("dma", 0.0) + w.dma
        for port in w.ports:
            out[f"{port.value} port"] = out.get(f"{port.value} port", 0.0) + w.port_time
    return out


class _Table:
    """The reservations of a resource, in [0, ii)."""

    def __init__(self, ii: float) -> None:
        self.ii = ii
        self.busy: list[tuple[float, float, int]] = []

    def find(self, earliest: float, width: float) -> float | None:
        """Return the first time from `earliest` on with `width` free, within one interval, or
        None.
        """
        if not self.busy or width <= 0:
            return earliest
        ii = self.ii
        m = earliest % ii
        k = bisect_right(self.busy, (m, float("inf"), 0)) - 1
        now = m
        n = len(self.busy)
        if k >= 0:
            now = max(now, self.busy[k][1])
        else:
            now = max(now, self.busy[-1][1] - ii)
        for step in range(1, n + 1):
            turn, i = divmod(k + step, n)
            start, end = self.busy[i][0] + turn * ii, self.busy[i][1] + turn * ii
            if start - now >= width - _TINY:
                break
            now = max(now, end)
        else:
            return None
        return earliest - m + now if now < m + ii else None

    def take(self, at: float, width: float, who: int) -> None:
        """Reserve a time; the part beyond the interval wraps to 0."""
        for low, high in self._spans(at, width):
            insort(self.busy, (low, high, who))

    def drop(self, who: int) -> None:
        """Remove the reservations of an instruction."""
        self.busy = [span for span in self.busy if span[2] != who]

    def others(self, at: float, width: float) -> set[int]:
        """Return the instructions that have reserved some of this time."""
        return {
            who
            for low, high in self._spans(at, width)
            for start, end, who in self.busy
            if start < high - _TINY and low < end - _TINY
        }

    def _spans(self, at: float, width: float) -> list[tuple[float, float]]:
        if width <= 0:
            return []
        m = at % self.ii
        if m + width <= self.ii:
            return [(m, m + width)]
        return [(m, self.ii), (0.0, min(m, m + width - self.ii))]


def modulo_schedule(
    works: Sequence[Work],
    edges: Sequence[Edge],
    ii: float,
    machine: Machine,
    first: Sequence[bool] = (),
) -> list[float] | None:
    """Return start times (ns, the first is 0), or None if none are found for this interval.

    Iterative modulo scheduling (B. R. Rau, MICRO-27, 1994). The instruction with the longest chain
    after it is placed first, as early as its operands and the engines allow. If there is no room,
    it displaces others, which are placed again. The queues share the DMA engines and buffer waiting
    transfers, so the DMA reservations are only a guide. `first`: the
    instructions on cycles of dependences that bound the interval, which are placed first.
    """
    schedule = _Schedule(works, edges, ii, machine, first)
    return schedule.times() if schedule.run() else None


class _Schedule:
    """The state of a schedule in progress."""

    def __init__(
        self,
        works: Sequence[Work],
        edges: Sequence[Edge],
        ii: float,
        machine: Machine,
        first: Sequence[bool],
    ) -> None:
        n = len(works)
        self.ii = ii
        self.tables: dict[int | Port, _Table] = {}
        self.needs = [_needs(w) for w in works]
        self.into: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        self.out: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        self.possible = True
        behind: list[list[tuple[int, float]]] = [[] for _ in range(n)]
        for e in edges:
            d = delay(works[e.before], works[e.after], e.data, machine)
            if e.before == e.after:
                self.possible &= d <= e.distance * ii
                continue
            self.into[e.after].append((e.before, d - e.distance * ii))
            self.out[e.before].append((e.after, d - e.distance * ii))
            if e.distance == 0:
                behind[e.before].append((e.after, d))
        tail = [0.0] * n
        for i in range(n - 1, -1, -1):  # program order is topological
            tail[i] = max((d + tail[j] for j, d in behind[i]), default=works[i].latency)
        self.rank = [(not (first and first[i]), -tail[i], i) for i in range(n)]
        self.start: list[float | None] = [None] * n
        self.before = [-1.0] * n  # the previous position of each instruction

    def run(self) -> bool:
        """Place all instructions; return whether that succeeded."""
        if not self.possible:
            return False
        heap = sorted(self.rank)
        for _ in range(_PLACEMENTS * len(heap)):
            if not heap:
                return True
            *_, i = heappop(heap)
            for gone in self._place(i):
                heappush(heap, self.rank[gone])
        return not heap

    def times(self) -> list[float]:
        """Return start times, the first of which is 0."""
        found = [s for s in self.start if s is not None]
        first = min(found)
        return [s - first for s in found]

    def _place(self, i: int) -> list[int]:
        """Place an instruction; return the displaced ones."""
        earliest = 0.0
        for p, d in self.into[i]:
            at = self.start[p]
            if at is not None:
                earliest = max(earliest, at + d)
        place = self._fit(self.needs[i], earliest)
        engines = [need for need in self.needs[i] if need[0] != _DMA]
        if place is None and len(engines) < len(self.needs[i]):
            place = self._fit(engines, earliest)
        gone: set[int] = set()
        if place is None:
            place = earliest
            if self.before[i] >= earliest:
                place = self.before[i] + max(self.ii / 16, self.needs[i][0][1])
            for key, width in engines:
                gone |= self._table(key).others(place, width)
        for j, d in self.out[i]:
            at = self.start[j]
            if at is not None and at < place + d - _TINY:
                gone.add(j)
        for j in sorted(gone):
            self.start[j] = None
            for key, _ in self.needs[j]:
                self._table(key).drop(j)
        self.start[i] = self.before[i] = place
        for key, width in self.needs[i]:
            self._table(key).take(place, width, i)
        return sorted(gone)

    def _table(self, key: int | Port) -> _Table:
        return self.tables.setdefault(key, _Table(self.ii))

    def _fit(self, needs: Sequence[tuple[int | Port, float]], earliest: float) -> float | None:
        """Return the first time from `earliest` on at which all resources are free."""
        at = earliest
        for _ in range(8):
            before = at
            for key, width in needs:
                found = self._table(key).find(at, width)
                if found is None:
                    return None
                at = found
            if at == before:
                return at
        return None


def _needs(work: Work) -> list[tuple[int | Port, float]]:
    """Return the resources of an instruction, with the time it occupies each."""
    needs: list[tuple[int | Port, float]] = [(work.engine, work.issue)]
    needs += [(port, work.port_time) for port in sorted(work.ports, key=lambda p: p.value)]
    if work.dma:
        needs.append((_DMA, work.dma))
    return needs
