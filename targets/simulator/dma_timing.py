"""Model the DMA engines: queues take turns, engines work in parallel, bytes are conserved.

Each queue (ring) is first in, first out. Queues with work share the engines equally, as in
round-robin arbitration at packet boundaries. A transfer cannot use more engines than it has
descriptors, and at most the fraction `Cost.share` of each, because descriptors of one queue start
at a minimum distance. A descriptor of a transfer keeps one engine busy for `Cost.descriptor_ns`, so
all together never move more than the engines' sustained rate.
"""

from collections import Counter, deque
from dataclasses import dataclass
from math import ceil, inf

from neuronir.targets.simulator.timing_code import TICKS, Op


@dataclass(slots=True, eq=False)
class Transfer:
    """A transfer in flight; `remaining` is engine time in ns, summed over engines."""

    op: Op
    queue: int
    stream: int  # the engine that started it
    begin: float  # when its first byte may move
    remaining: float
    parallel: float  # engines that it can use
    record: int = -1  # its number among the recorded intervals
    started: float = -1.0  # when its first byte moved
    slow: float = 0.0  # its share of the engines' idle time while it moved


class DmaEngines:
    """The engines and their queues. `next` is the time of the next change, inf if there is none."""

    def __init__(self, engines: int) -> None:
        self.engines = engines
        self.queues: dict[int, deque[Transfer]] = {}
        self.now = 0.0
        self.next = inf
        self._rates: list[tuple[Transfer, float]] = []
        self._unused = 1.0  # the fraction of the engines that no transfer uses
        self._idle = 0.0
        self._slow: dict[int, float] = {}  # of that, while transfers of a stream moved

    def submit(self, transfer: Transfer, now: float) -> None:
        """Put a transfer into its queue at time `now` (never before the last call's time)."""
        waiting = self.queues.setdefault(transfer.queue, deque())
        waiting.append(transfer)
        if len(waiting) == 1:
            self._advance(now)
            self._plan()

    def step(self, now: float) -> list[Transfer]:
        """Advance to `now` (which is `next`); return the transfers whose last byte has moved."""
        self._advance(now)
        finished = []
        for queue in self.queues.values():
            if queue and queue[0].remaining <= 0 and queue[0].begin <= now:
                finished.append(queue.popleft())
        self._plan()
        return finished

    def _advance(self, now: float) -> None:
        elapsed = now - self.now
        if elapsed > 0:
            unused = elapsed * self._unused
            self._idle += unused
            moving = Counter(transfer.stream for transfer, _ in self._rates) if unused else {}
            for transfer, rate in self._rates:
                left = transfer.remaining - elapsed * rate
                transfer.remaining = round(left * TICKS) / TICKS
                if unused > 0:
                    transfer.slow += unused / moving[transfer.stream]
            if unused > 0:
                for stream in moving:
                    self._slow[stream] = self._slow.get(stream, 0.0) + unused
        self.now = now

    def _plan(self) -> None:
        """Share the engines among the heads of the queues; find the next change."""
        now = self.now
        self.next = inf
        active: list[Transfer] = []
        for queue in self.queues.values():
            if queue:
                head = queue[0]
                if head.begin <= now:
                    active.append(head)
                elif head.begin < self.next:
                    self.next = head.begin
        self._rates = []
        left = float(self.engines)
        active.sort(key=_parallel)
        for place, transfer in enumerate(active):
            if transfer.started < 0:
                transfer.started = now
            rate = min(transfer.parallel, left / (len(active) - place))
            left -= rate
            self._rates.append((transfer, rate))
            end = now + ceil(max(0.0, transfer.remaining) / rate * TICKS) / TICKS
            self.next = min(self.next, end)
        self._unused = left / self.engines

    def idle(self, now: float, stream: int) -> float:
        """Return the idle time of the engines until `now` while no transfer of `stream` moved.

        Partial idleness counts in part.
        """
        moves = any(transfer.stream == stream for transfer, _ in self._rates)
        going = 0.0 if moves else max(0.0, now - self.now) * self._unused
        return self._idle - self._slow.get(stream, 0.0) + going

    def state(self, now: float) -> tuple[object, ...]:
        """Return everything that the future depends on, in times relative to `now`."""
        queues = tuple(
            (queue, tuple((max(t.begin - now, 0.0), t.remaining, t.op.number) for t in waiting))
            for queue, waiting in sorted(self.queues.items())
            if waiting
        )
        return (self.now - now, queues) if queues else ()

    def shift(self, by: float) -> None:
        """Delay everything in flight by `by` ns."""
        self.now += by
        self.next += by
        for waiting in self.queues.values():
            for transfer in waiting:
                transfer.begin += by
                if transfer.started >= 0:
                    transfer.started += by


def _parallel(transfer: Transfer) -> float:
    return transfer.parallel
