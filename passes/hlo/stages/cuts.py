"""Choose where to cut a row of units into stages, so that the slowest stage or link is fastest."""

from dataclasses import dataclass

import numpy as np

from neuronir.dialects.nc.machine import Machine, link_ns
from neuronir.passes.hlo.stages.costs import Floats, stage_ns

_MOST_CUTS = 1200
"""Limit of candidate cuts: the time of the search grows with its square."""


@dataclass(frozen=True)
class Cuts:
    """Stages as [first unit of each ..., number of units], and the estimated ns of the slowest."""

    bounds: tuple[int, ...]
    bottleneck_ns: float

    @property
    def stages(self) -> int:
        """The number of stages."""
        return len(self.bounds) - 1


def find_cuts(costs: Floats, sent: Floats, machine: Machine, cores: int) -> Cuts:
    """Return the cuts for at most `cores` stages whose slowest stage or link is fastest; of equals
    those with fewest stages.

    `costs` is [units, resources] and `sent` [units + 1], of `unit_costs` and `live_bytes`.
    Cuts that send infinitely much are not allowed. Exact over all cuts that are looked at (dynamic
    programming over stages and ends).
    """
    places = _places(sent)
    count = len(places)
    sums = np.concatenate([np.zeros((1, costs.shape[1])), np.cumsum(costs, axis=0)])[places]
    moved = sent[places] / machine.dma_gbps
    moved[0] = moved[-1] = 0.0
    time = np.full((count, count), np.inf)  # [first, end]
    for end in range(1, count):
        spent = sums[end] - sums[:end]
        time[:end, end] = stage_ns(spent, moved[:end] + moved[end], machine)
    best = [np.full(count, np.inf)]
    best[0][0] = 0.0
    origin: list[np.ndarray] = []
    for stage in range(cores):
        links = np.array([link_ns(s, stage, machine) for s in sent[places]]) if stage else 0.0
        reach = np.maximum(np.maximum(best[-1], links)[:, None], time)
        origin.append(reach.argmin(axis=0))
        best.append(reach[origin[-1], np.arange(count)])
    reached = [float(row[-1]) for row in best[1:]]
    stages = next(k for k, t in enumerate(reached, 1) if t <= min(reached) * 1.0000001)
    bounds = [count - 1]
    for stage in range(stages - 1, -1, -1):
        bounds.append(int(origin[stage][bounds[-1]]))
    return Cuts(tuple(int(places[b]) for b in reversed(bounds)), reached[stages - 1])


def _places(sent: Floats) -> np.ndarray:
    """Return the candidate cuts in order, including both ends.

    If there are too many, each of equal windows has the one that sends the least.
    """
    inner = 1 + np.flatnonzero(np.isfinite(sent[1:-1]))
    if len(inner) > _MOST_CUTS:
        windows = np.array_split(inner, _MOST_CUTS)
        inner = np.array([window[sent[window].argmin()] for window in windows])
    return np.concatenate([[0], inner, [len(sent) - 1]]).astype(int)
