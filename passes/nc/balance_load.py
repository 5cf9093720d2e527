"""How much ACT and DVE have to do, and how much of it either of them could."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import Engine

BOTH = (Engine.ACT, Engine.DVE)


def _zero() -> dict[Engine, float]:
    return dict.fromkeys(BOTH, 0.0)


@dataclass(slots=True)
class EngineLoad:
    """Nanoseconds of ACT and DVE in a piece of code with all rounds of its loops.

    `clock`: the work that each has been given, neither more than `window` behind the other.
    `fixed`: of that, what only this engine can do; `given`: what both can do, where it is; `alone`:
    all that both can do, were it on this engine. `count`: instructions that both can do, by engine;
    `moved`: those in the code that have another engine than they came with.
    """

    window: float
    clock: dict[Engine, float] = field(default_factory=_zero)
    fixed: dict[Engine, float] = field(default_factory=_zero)
    given: dict[Engine, float] = field(default_factory=_zero)
    alone: dict[Engine, float] = field(default_factory=_zero)
    count: dict[Engine, int] = field(default_factory=lambda: dict.fromkeys(BOTH, 0))
    moved: int = 0

    def do(self, engine: Engine, time: float) -> None:
        """Count an instruction that only `engine` can do."""
        self.fixed[engine] += time
        self._advance(engine, time)

    def choose(self, engine: Engine, times: Mapping[Engine, float], moved: bool) -> None:
        """Count an instruction that both can do, on `engine`; `times` is what it takes on each."""
        self.given[engine] += times[engine]
        self.count[engine] += 1
        self.moved += moved
        for e in BOTH:
            self.alone[e] += times[e]
        self._advance(engine, times[engine])

    def add(self, inner: "EngineLoad", rounds: int) -> None:
        """Count what another piece of code does in so many rounds."""
        for e in BOTH:
            self.fixed[e] += inner.fixed[e] * rounds
            self.given[e] += inner.given[e] * rounds
            self.alone[e] += inner.alone[e] * rounds
            self.count[e] += inner.count[e] * rounds
            self.clock[e] += inner.clock[e] * rounds
        self.moved += inner.moved
        self._close_up()

    def busier(self, chosen: Engine | None = None) -> float:
        """Nanoseconds of the busier engine; with `chosen`, were all that both can do on that."""
        if chosen is None:
            return max(self.fixed[e] + self.given[e] for e in BOTH)
        return max(self.fixed[e] + (self.alone[e] if e is chosen else 0.0) for e in BOTH)

    def _advance(self, engine: Engine, time: float) -> None:
        self.clock[engine] += time
        self._close_up()

    def _close_up(self) -> None:
        """Let the engine that is behind by more than the window have waited."""
        least = max(self.clock.values()) - self.window
        for e in BOTH:
            self.clock[e] = max(self.clock[e], least)
