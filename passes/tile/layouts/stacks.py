"""Recognise layouts that differ in their outermost partition digits only.

The values of 128 features may lie on 128 partitions, or on 64, the second half behind the first on
the free axis. Copies convert one to the other: an engine may read one half of the partitions and
write the other (docs/hardware.md).
"""

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.layout import span, split_at
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.tile.layouts.maps import Partition


def stacked(machine: Machine, low: Partition, high: Partition) -> Partition | None:
    """Return the digits that `high` has outside of those of `low`, or None if it lacks some of
    these.

    Each of their positions must be a start partition for an access of the span of `low`.
    """
    if not low or any(a.ragged for a, _ in (*low, *high)):
        return None
    mine, wanted = _split(low, high), _split(high, low)
    if mine is None or wanted is None or not set(mine) < set(wanted):
        return None
    outer = tuple(pair for pair in wanted if pair not in mine)
    if any(step < span(low) for _, step in outer):
        return None
    starts = machine.allowed_starts(span(low))
    return outer if set(starts_of(outer)) <= set(starts) else None


def starts_of(outer: Partition) -> list[int]:
    """Return the partitions at which the positions of the outer digits start."""
    found = [0]
    for a, step in outer:
        found = [p + i * step for p in found for i in range(a.size)]
    return found


def elements_of(outer: Partition) -> list[int]:
    """Return the first element of each position of the outer digits, in the order of starts."""
    return numbers_of([a for a, _ in outer])


def _split(partition: Partition, other: Partition) -> Partition | None:
    cuts = {c for a, _ in other for c in (a.stride, a.end)}
    out: Partition = ()
    for a, step in partition:
        parts = split_at(a, cuts)
        if parts is None:
            return None
        out += tuple((b, step * (b.stride // a.stride)) for b in parts)
    return out
