"""Describe the contents of SBUF and PSUM over a recorded run, for the memory map of a page."""

from typing import Any

import numpy as np

from neuronir.dialects.nc.enums import Space
from neuronir.targets.simulator.occupancy import Occupancy, Resident
from neuronir.targets.simulator.page.timeline import UNITS
from neuronir.targets.simulator.timing import TimingResult

MOST = 60_000
"""Rectangles and points of a memory that a page holds."""


def memory_data(result: TimingResult) -> dict[str, dict[str, Any]]:
    """Return for each memory its size (bytes per partition), the lifetimes of its values, and its
    occupancy.

    `peak` holds the time (ns) and bytes of the first moment at which most is in use, `held` the
    values at that time.
    """
    assert result.recording is not None
    machine = result.machine
    occupancy = Occupancy(result.recording, result.code.ops, machine)
    sizes = {Space.SBUF: machine.sbuf_partition_bytes, Space.PSUM: machine.psum_partition_bytes}
    levels, residents = occupancy.levels(), occupancy.residents()
    found = {}
    for space, size in sizes.items():
        points = levels[space]
        time, most = max(points, key=lambda point: point[1], default=(0.0, 0))
        held = [r for r in residents[space] if r.begin <= time < r.end]
        found[space.name] = {
            "size": size,
            "peak": (time, most),
            "held": sorted(held, key=lambda r: (r.low, r.begin)),
            "lives": _columns(residents[space]),
            "levels": _levels(points),
        }
    return found


def _columns(residents: list[Resident]) -> dict[str, list[int]]:
    """Return the lifetimes as columns; if there are too many, only the longest."""
    if len(residents) > MOST:
        longest = sorted(residents, key=lambda r: (r.begin - r.end, r.begin, r.low))[:MOST]
        residents = sorted(longest, key=lambda r: (r.begin, r.low))
    begins = [round(r.begin * UNITS) for r in residents]
    return {
        "begin": np.diff(begins, prepend=0).tolist(),
        "length": [
            round(r.end * UNITS) - begin for r, begin in zip(residents, begins, strict=True)
        ],
        "low": [r.low for r in residents],
        "high": [r.high for r in residents],
        "source": [r.source for r in residents],
        "partitions": [r.partitions for r in residents],
    }


def _levels(points: list[tuple[float, int]]) -> dict[str, list[int]]:
    """Return the occupancy over time; if there are too many points, only the highest of each
    bin.
    """
    if len(points) > MOST:
        width = points[-1][0] / MOST or 1.0
        highest: dict[int, tuple[float, int]] = {}
        for time, level in points:
            at = int(time / width)
            if at not in highest or level > highest[at][1]:
                highest[at] = (time, level)
        points = [highest[at] for at in sorted(highest)]
    return {"time": [round(t * UNITS) for t, _ in points], "bytes": [b for _, b in points]}
