"""Track the work of ACT and DVE, and how much of it either engine could do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import Engine

BOTH = (Engine.ACT, Engine.DVE)


def _zero() -> dict[Engine, float]:
    return dict.fromkeys(BOTH, 0.0)


@dataclass(slots=True)
class EngineLoad:
    """The work in ns of ACT and DVE in a piece of code, including all iterations of its loops.

    `clock` is the work assigned to each engine; neither is more than `window` behind the other.
    `fixed` is the part that only this engine can execute. `given` is the flexible part assigned to
    it, and `alone` is all flexible work if it ran on this engine. `count` is the number of flexible
    instructions by engine, and `moved` the number that changed engine.
    """

    window: float
    clock: dict[Engine, float] = field(default_factory=_zero)
    fixed: dict[Engine, float] = field(default_factory=_zero)
    given: dict[Engine, float] = field(default_factory=_zero)
    alone: dict[Engine, float] = field(default_factory=_zero)
    count: dict[Engine, int] = field(default_factory=lambda: dict.fromkeys(BOTH, 0))
    moved: int = 0

    def do(self, engine: Engine, time: float) -> None:
        """Count an instruction that only `engine` can execute."""
        self.fixed[engine] += time
        self._advance(engine, time)

    def choose(self, engine: Engine, times: Mapping[Engine, float], moved: bool) -> None:
        """Count a flexible instruction on `engine`; `times` is its cost on each engine."""
        self.given[engine] += times[engine]
        self.count[engine] += 1
        self.moved += moved
        for e in BOTH:
            self.alone[e] += times[e]
        self._advance(engine, times[engine])

    def add(self, inner: "EngineLoad", rounds: int) -> None:
        """Count the work of another piece of code for this many iterations."""
        for e in BOTH:
            self.fixed[e] += inner.fixed[e] * rounds
            self.given[e] += inner.given[e] * rounds
            self.alone[e] += inner.alone[e] * rounds
            self.count[e] += inner.count[e] * rounds
            self.clock[e] += inner.clock[e] * rounds
        self.moved += inner.moved
        self._close_up()

    def busier(self, chosen: Engine | None = None) -> float:
        """Return the ns of the busier engine; with `chosen`, if all flexible work were on that
        engine.
        """
        if chosen is None:
            return max(self.fixed[e] + self.given[e] for e in BOTH)
        return max(self.fixed[e] + (self.alone[e] if e is chosen else 0.0) for e in BOTH)

    def _advance(self, engine: Engine, time: float) -> None:
        self.clock[engine] += time
        self._close_up()

    def _close_up(self) -> None:
        """Advance the clock of an engine that is more than `window` behind the other."""
        least = max(self.clock.values()) - self.window
        for e in BOTH:
            self.clock[e] = max(self.clock[e], least)
