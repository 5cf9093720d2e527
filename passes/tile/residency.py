"""Choose the values that stay in SBUF between groups, and the room that remains for each group."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.group import Group, is_source, is_view, item_bytes, nbytes
from neuronir.passes.tile.grouping import APART, Grouping
from neuronir.passes.tile.whole import whole

SHARE = 12
"""Values up to this fraction of SBUF may stay there."""
LEAST_ROOM = 0.6
"""The minimum fraction of a group's room: resident values move to HBM before it gets less."""


def may_stay(ops: Sequence[Operation], machine: Machine) -> frozenset[SSAValue]:
    """Return the values that are small enough to stay in SBUF between groups."""
    room = machine.sbuf_usable_partition_bytes * machine.partitions // SHARE
    return frozenset(
        r
        for op in ops
        for r in op.results
        if not (is_view(op) or is_source(op) or whole(op) or op.name in APART) and nbytes(r) <= room
    )


@dataclass(frozen=True)
class Span:
    """The groups (first, last) between which a value is in SBUF, and its bytes per partition."""

    value: SSAValue
    first: int
    last: int
    bytes: int

    def covers(self, group: int) -> bool:
        """Return whether it fits next to the buffers of a group."""
        return self.first <= group <= self.last


def settle(grouping: Grouping, groups: Sequence[Group]) -> tuple[list[Group], frozenset[SSAValue]]:
    """Return groups with their loops for the available SBUF, and the values that stay in SBUF
    between them.
    """
    resident = set(grouping.resident)
    spans = _spans(groups, resident, grouping.machine)
    for k in range(len(groups)):
        while not grouping.room.fits(_beside(spans, k), share=1 - LEAST_ROOM):
            over = max(
                (s for s in spans if s.covers(k)),
                key=lambda s: (s.bytes * (s.last - s.first + 1), s.first),
            )
            spans.remove(over)
            resident.discard(over.value)
    grouping.stay(frozenset(resident))
    out: list[Group] = []
    for k, group in enumerate(groups):
        out += grouping.within(group, _beside(spans, k))
    return out, frozenset(resident)


def _spans(groups: Sequence[Group], resident: set[SSAValue], machine: Machine) -> list[Span]:
    place = {op: k for k, group in enumerate(groups) for op in group.ops if not is_view(op)}
    found: list[Span] = []
    for k, group in enumerate(groups):
        for v in group.outputs:
            if v not in resident:
                continue
            last = max((place[op] for op in _readers(v) if op in place), default=k)
            first = k if group.loops else k + 1
            if last >= first:
                size = prod(shape_of(v)) * item_bytes(v)
                found.append(
                    Span(v, first, last, -(-size // spread(shape_of(v), machine.partitions)))
                )
    return found


def _readers(value: SSAValue) -> list[Operation]:
    """Return the ops that read a value, through views."""
    out: list[Operation] = []
    work = [use.operation for use in value.uses]
    while work:
        op = work.pop()
        if is_view(op):
            work.extend(use.operation for r in op.results for use in r.uses)
        else:
            out.append(op)
    return out


def _beside(spans: Sequence[Span], group: int) -> int:
    return sum(s.bytes for s in spans if s.covers(group))
