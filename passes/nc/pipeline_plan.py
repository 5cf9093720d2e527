"""Plan a pipelined loop: start times in an iteration, and the number of buffer copies."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.cycles import critical, shortest_interval
from neuronir.passes.nc.list_schedule import Work, delay, work_of
from neuronir.passes.nc.listing import Buffer, Listing, Node
from neuronir.passes.nc.liveness import deep_lifetimes, rounded
from neuronir.passes.nc.modulo import Edge, load, modulo_schedule

_LARGEST_KERNEL = 2000
_TRIES = 24
_STEP = 1.12
"""The ratio of successive intervals that are tried."""

_WAIT = -1
"""The slack of a plan with the minimum of buffer copies: instructions wait for other users of a
buffer.
"""

_REFINEMENTS = 2
"""Intervals tried between the shortest feasible one and the next shorter one."""

_WORTH_WAITING = 1.4
"""How much longer an interval without waits for buffers may be than one with waits."""


@dataclass(slots=True)
class Plan:
    """For each instruction of the body: stage and offset (ns); and the copies of each buffer by
    key.
    """

    interval: float
    stages: list[int]
    offsets: list[float]
    slack: int  # buffer copies beyond those with which no instruction waits, or _WAIT
    copies: dict[int, int]
    local: frozenset[int]  # buffers that live within one step: each has its own bytes
    spare: tuple[int, int]  # remaining SBUF bytes and PSUM banks

    @property
    def depth(self) -> int:
        """Return the number of steps in the kernel."""
        return max(self.copies.values(), default=1)

    @property
    def last_stage(self) -> int:
        """Return the stage of the latest instruction."""
        return max(self.stages)


def _room(listing: Listing, loop: Node, machine: Machine, capacity: int) -> tuple[int, int]:
    """Return the (SBUF bytes, PSUM banks) available to the buffers of the loop."""
    buffers = listing.buffers
    lives, _ = deep_lifetimes(listing.nodes, buffers)
    own = {b.key for b in buffers if b.loop == loop.loop}
    first, last = loop.body[0].place, loop.body[-1].place
    taken = [0, 0]
    for key, life in lives.items():
        buffer = buffers[key]
        if key in own or life.last < first or life.first > last:
            continue
        if buffer.space == Space.SBUF:
            taken[0] += rounded(buffer.size)
        elif buffer.space == Space.PSUM:
            taken[1] += -(-buffer.size // machine.psum_bank_bytes)
    return capacity - taken[0], machine.psum_banks - taken[1]


def plan_loop(
    listing: Listing, loop: Node, edges: Sequence[Edge], machine: Machine, capacity: int
) -> list[Plan]:
    """Yield plans with the shortest intervals for which schedule and buffers fit, longest first."""
    works = [work_of(n.record, machine) for n in loop.body if n.record is not None]
    bound = max(load(works).values())
    room = _room(listing, loop, machine, capacity)
    search = _Search(listing, loop, edges, machine, room, works)
    bound = max(bound, search.latency_bound(bound))
    interval = bound
    waiting: Plan | None = None
    for _ in range(_TRIES):
        if waiting is not None and interval > _WORTH_WAITING * waiting.interval:
            break
        plan = search.plan(interval, (1, 0) if waiting is not None else (1, 0, _WAIT))
        if plan is not None and plan.slack != _WAIT:
            return [plan, *search.refine(plan, max(bound, interval / _STEP))]
        waiting = waiting or plan
        interval *= _STEP
    return [waiting] if waiting is not None else []


@dataclass
class _Search:
    """Finds plans of one loop for given intervals; `room` is in SBUF bytes and PSUM banks."""

    listing: Listing
    loop: Node
    edges: Sequence[Edge]
    machine: Machine
    room: tuple[int, int]
    works: Sequence[Work]
    first: Sequence[bool] = ()  # the instructions on cycles that decide the interval, if they do

    def latency_bound(self, busiest: float) -> float:
        """Return the shortest interval that carried dependences allow.

        `busiest` is the interval that the resources allow. If it is shorter, the instructions that
        determine the result are placed first.
        """
        delays = [
            (
                e.before,
                e.after,
                delay(self.works[e.before], self.works[e.after], e.data, self.machine),
                e.distance,
            )
            for e in self.edges
        ]
        found = shortest_interval(len(self.works), delays)
        if found > busiest:
            self.first = critical(len(self.works), delays, found)
        return found

    def plan(self, interval: float, slacks: Sequence[int]) -> Plan | None:
        """Return a plan with that interval, and the first of `slacks` that fits."""
        start = modulo_schedule(self.works, self.edges, interval, self.machine, self.first)
        if start is None:
            return None
        stages = [int(s // interval) for s in start]
        offsets = [s - k * interval for s, k in zip(start, stages, strict=True)]
        for slack in slacks:
            found = self._copies(start, interval, slack)
            if found is None:
                continue
            plan = Plan(interval, stages, offsets, slack, *found)
            if (self.loop.trip_count - plan.last_stage) // plan.depth >= 2:
                return plan
        return None

    def refine(self, plan: Plan, least: float) -> list[Plan]:
        """Return plans of the same slack, with intervals between `least` and the plan's."""
        out: list[Plan] = []
        most = plan.interval
        for _ in range(_REFINEMENTS):
            middle = (least * most) ** 0.5
            found = self.plan(middle, [plan.slack])
            if found is None:
                least = middle
            else:
                most = middle
                out.append(found)
        return out

    def _copies(
        self, start: Sequence[float], interval: float, slack: int
    ) -> tuple[dict[int, int], frozenset[int], tuple[int, int]] | None:
        """Return the copies of each buffer, the buffers that live within one step, and the free
        room.

        Buffers within one step can share bytes. Returns None if the buffers do not fit.

        The first write of an iteration must follow the last use of the iteration that had the copy
        before. The end of that use counts, so that no instruction waits, except with `_WAIT`. An
        additional copy lets engines drift apart.
        """
        buffers, machine = self.listing.buffers, self.machine
        first: dict[int, float] = {}
        last: dict[int, float] = {}
        for i, node in enumerate(self.loop.body):
            end = start[i]
            if slack != _WAIT:
                end += self.works[i].latency + machine.semaphore_latency_ns
            for access in node.accesses:
                key = access.buffer
                if buffers[key].loop == self.loop.loop:
                    first[key] = min(first.get(key, start[i]), start[i])
                    last[key] = max(last.get(key, end), end)
        needed = {key: int((last[key] - first[key]) // interval) + 1 for key in first}
        local = frozenset(
            key
            for key, n in needed.items()
            if n == 1
            and first[key] // interval == last[key] // interval
            and isinstance(buffers[key].op, AllocOp)
        )
        copies = {key: n + max(slack, 0) for key, n in needed.items() if key not in local}
        depth = max(copies.values(), default=1)
        if depth * len(self.loop.body) > _LARGEST_KERNEL:
            return None
        for key, n in copies.items():
            copies[key] = next(d for d in range(n, depth + 1) if depth % d == 0)
        taken = {Space.SBUF: 0, Space.PSUM: 0}
        for key, n in copies.items():
            if buffers[key].space in taken:
                taken[buffers[key].space] += _size(buffers[key], machine) * n
        for space in taken:
            lives = [
                (first[k] % interval, last[k] % interval, k)
                for k in local
                if buffers[k].space == space
            ]
            taken[space] += _most_at_once(lives, buffers, machine)
        spare = self.room[0] - taken[Space.SBUF], self.room[1] - taken[Space.PSUM]
        return (copies, local, spare) if min(spare) >= 0 else None


def _size(buffer: Buffer, machine: Machine) -> int:
    """Return bytes of SBUF, or banks of PSUM."""
    if buffer.space == Space.PSUM:
        return -(-buffer.size // machine.psum_bank_bytes)
    return rounded(buffer.size)


def _most_at_once(
    lives: Sequence[tuple[float, float, int]], buffers: Sequence[Buffer], machine: Machine
) -> int:
    """Return the maximum size of buffers that live between two times of a step."""
    changes: list[tuple[float, int, int]] = []
    for begin, end, key in lives:
        size = _size(buffers[key], machine)
        changes += [(begin, 0, size), (end, 1, -size)]
    best = now = 0
    for _, _, change in sorted(changes):
        now += change
        best = max(best, now)
    return best
