"""Attribute parts of the time of a run to ops: lost time, or work at the full rate."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from neuronir.targets.simulator.waits import Words

Entry = tuple[Words, int, float]
"""The description and the advice, the op (source number), and the time in ns."""


@dataclass(slots=True)
class Part:
    """Time in ns, by op (source number); `what` and `advice` are phrases."""

    what: str
    advice: str
    ns: float = 0.0
    by_source: dict[int, float] = field(default_factory=dict)

    def add(self, source: int, ns: float) -> None:
        """Add the time of one op."""
        self.ns += ns
        self.by_source[source] = self.by_source.get(source, 0.0) + ns

    def worst(self) -> int:
        """Return the op with the largest part."""
        return max(sorted(self.by_source), key=lambda source: self.by_source[source])


def summed(entries: Iterable[Entry]) -> list[Part]:
    """Return the sums of entries with the same words, largest first, from 1 ns on."""
    parts: dict[Words, Part] = {}
    for words, source, ns in entries:
        if ns > 0:
            parts.setdefault(words, Part(*words)).add(source, ns)
    return sorted((part for part in parts.values() if part.ns >= 1), key=lambda part: -part.ns)
