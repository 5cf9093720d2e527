"""Track SBUF during scheduling: the live bytes, and which instructions may run ahead."""

from collections.abc import Iterable
from heapq import heappop, heappush

from neuronir.passes.nc.run_ahead import Demand, RunAhead


class SbufState:
    """The bytes of SBUF during scheduling.

    A buffer is live until its last instruction starts: the order of the program will be that of the
    start times.
    """

    def __init__(self, demand: Demand) -> None:
        self.ahead = RunAhead(demand)
        self.oldest = 0  # the first instruction that has not started by now
        self._waiting = [True] * len(demand.live)
        self._starts: list[tuple[float, int]] = []  # a heap of those that have not come yet

    def take(self, i: int) -> bool:
        """Take the buffers that an instruction is the first to need; return False for not yet."""
        return self.ahead.take(self.ahead.missing(i), self.oldest)

    def begin(self, i: int, at: float) -> None:
        """Record that an instruction will start at a time (ns)."""
        heappush(self._starts, (at, i))

    def changed(self) -> bool:
        """Return whether waiting instructions may find room now."""
        return self.ahead.changed(self.oldest)

    def move_on(self, next_starts: Iterable[float]) -> float:
        """Free what has started by the next start of any engine; return the time (ns) of the last
        one. If no engine can start anything, move on to the next start that was recorded.
        """
        now = min(next_starts)
        if now == float("inf") and self._starts:
            now = self._starts[0][0]
        last = 0.0
        while self._starts and self._starts[0][0] <= now:
            last, i = heappop(self._starts)
            self.ahead.done(i)
            self._waiting[i] = False
        while self.oldest < len(self._waiting) and not self._waiting[self.oldest]:
            self.oldest += 1
        return last
