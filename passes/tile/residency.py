"""Choose the values that stay in SBUF between groups, and the room that remains for each group."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.group import (
    Group,
    is_source,
    is_view,
    item_bytes,
    make_group,
    nbytes,
    root_of,
)
from neuronir.passes.tile.grouping import APART, Grouping
from neuronir.passes.tile.whole import whole

USUAL = 12
"""Values up to the 12th part of SBUF are expected to stay there while groups are chosen."""
LARGEST = 2
"""Values up to half of SBUF may stay there if the chosen groups leave room for them."""
WORTH = 0.97
"""Limit of the time of groups around a value that stays, as a share of their time without."""
LEAST_ROOM = 0.6
"""The minimum fraction of a group's room: resident values move to HBM before it gets less."""


def may_stay(ops: Sequence[Operation], machine: Machine, part: int = USUAL) -> frozenset[SSAValue]:
    """Return the values that may stay in SBUF between groups and take a part of it at most."""
    room = machine.sbuf_usable_partition_bytes * machine.partitions // part
    return frozenset(
        r
        for op in ops
        for r in op.results
        if not (is_view(op) or is_source(op) or whole(op) or op.name in APART) and nbytes(r) <= room
    )


@dataclass(frozen=True)
class Span:
    """The groups (first, last) beside which a value is in SBUF, after the one that makes it, and
    its bytes per partition.
    """

    value: SSAValue
    made: int
    first: int
    last: int
    bytes: int

    def covers(self, group: int) -> bool:
        """Return whether it fits next to the buffers of a group."""
        return self.first <= group <= self.last


def settle(
    grouping: Grouping, groups: Sequence[Group], larger: frozenset[SSAValue]
) -> tuple[list[Group], frozenset[SSAValue]]:
    """Return groups with their loops for the available SBUF, and the values that stay in SBUF
    between them, some of the `larger` ones included.
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
    return _filled(grouping, out, larger)


def _filled(
    grouping: Grouping, groups: Sequence[Group], larger: frozenset[SSAValue]
) -> tuple[list[Group], frozenset[SSAValue]]:
    """Return groups and the values that stay in SBUF between them: larger ones too, if only tiles
    of these groups read them, and if the groups are faster without storing and loading them.

    Groups that leave no room for a value get smaller tiles.
    """
    found = list(groups)
    resident = grouping.resident
    spans = _spans(found, resident, grouping.machine)
    more = _spans(found, larger - resident, grouping.machine)
    tiled = frozenset(grouping.nodes) - grouping.opaque
    for span in sorted(more, key=lambda s: (s.last - s.first, s.bytes)):
        if not tiled.issuperset(_readers(span.value)):
            continue
        around = range(span.made, span.last + 1)
        before = sum(grouping.times.of(found[k]).total for k in around)
        before += sum(_wait(grouping, found[k], span.value) for k in around[1:])
        grouping.stay(resident | {span.value})
        tried = list(found)
        for k in around:
            tried[k] = _with_room(grouping, found[k], _beside([*spans, span], k))
        beside = _spans(tried, grouping.resident, grouping.machine)  # a loop assembles its outputs
        after = sum(grouping.times.of(tried[k]).total for k in around)
        if after <= WORTH * before and all(
            grouping.room.fits(grouping.times.peak(tried[k]), _beside(beside, k)) for k in around
        ):
            found, spans, resident = tried, beside, grouping.resident
        else:
            grouping.stay(resident)
    return found, resident


def _with_room(grouping: Grouping, group: Group, beside: int) -> Group:
    """Return a group that leaves room for other values, with smaller tiles if necessary; the same
    group if it would have to be split.
    """
    if grouping.room.fits(grouping.times.peak(group), beside):
        return group
    found = grouping.within(group, beside)
    return found[0] if len(found) == 1 else group


def _wait(grouping: Grouping, group: Group, value: SSAValue) -> float:
    """Return the time in ns in which a group only loads a value, which was just stored: if its
    loops need all of it.
    """
    for key in group.inputs:
        if root_of(group.value(key)) is value:
            leaves = group.related.based(group.related.leaves(key))
            if not group.depth_of(leaves):
                return grouping.times.moved(key, group)
    return 0.0


def settle_again(grouping: Grouping, groups: Sequence[Group]) -> list[Group]:
    """Return settled groups after some of their values are recomputed in others.

    `grouping` has the ops as they are now. Groups that changed get other loops.
    """
    of = {op: group for group in groups for op in group.ops if not is_view(op)}
    kept: dict[Group, list[Operation]] = {group: [] for group in groups}
    added: dict[Group, list[Operation]] = {group: [] for group in groups}
    for op in reversed(grouping.nodes):
        if op in of:
            kept[of[op]].append(op)
        else:  # it recomputes a value for its readers
            of[op] = of[_readers(op.results[0])[0]]
            added[of[op]].append(op)
    renewed: list[Group] = []
    for group in groups:
        made = _made([*kept[group], *added[group]], grouping)
        if made is None:  # their axes are incompatible
            apart = (_made(some[group], grouping) for some in (added, kept))
            renewed += [some for some in apart if some is not None]
        elif added[group] or made.outputs != group.outputs or len(made.ops) != len(group.ops):
            renewed.append(made)
        else:
            renewed.append(group)
    spans = _spans(renewed, grouping.resident, grouping.machine)
    out: list[Group] = []
    for k, group in enumerate(renewed):
        beside = _beside(spans, k)
        if group in kept and grouping.room.fits(grouping.times.peak(group), beside):
            out.append(group)
        elif group.ops:
            out += grouping.within(group, beside)
    return out


def _made(ops: Sequence[Operation], grouping: Grouping) -> Group | None:
    return make_group(sorted(ops, key=grouping.order.__getitem__), grouping.order)


def _spans(groups: Sequence[Group], resident: Collection[SSAValue], machine: Machine) -> list[Span]:
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
                    Span(v, k, first, last, -(-size // spread(shape_of(v), machine.partitions)))
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
