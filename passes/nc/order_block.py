"""Order the nodes of a block: list scheduling of each stretch of straight-line code.

Loops keep their positions, and each stretch is scheduled with the cost model, from program order or
from demand order.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import EARLY
from neuronir.passes.nc.demand_order import demand_order
from neuronir.passes.nc.dependence import Predecessors, Shared, dependences
from neuronir.passes.nc.list_schedule import is_spread, list_schedule, work_of
from neuronir.passes.nc.listing import (
    LOOP,
    Buffer,
    Listing,
    Node,
)
from neuronir.passes.nc.liveness import rounded, stream_buffers
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.nc.run_ahead import Demand
from neuronir.passes.statistics import record

WINDOW = 384
"""By default, the number of positions by which an instruction may move ahead."""
WINDOW_HELP = (
    "number of positions by which an instruction may move ahead of the first one that has not "
    "started"
)

_COMPARED = 4000
"""Limit of straight-line instructions for comparing two windows and two orders, which takes four
times as long.
"""

_SHARING = 2
"""Products of a stationary operand that stay together in straight-line code."""

_WORTH = 0.98
"""The fraction of the estimated time in program order that demand order must beat."""


def order_block(
    listing: Listing,
    nodes: Sequence[Node],
    around: tuple[int, ...],
    machine: Machine,
    window: int,
    cut: frozenset[int] = frozenset(),
    demand: bool = False,
    narrow: int = 0,
    sbuf: int | None = None,
) -> list[Node]:
    """Return the nodes of a block in order; loops keep their positions.

    No instruction moves across the end of a node in `cut`. With `demand`, straight-line code is
    scheduled from demand order; with `narrow`, that window is tried too. With `sbuf`, no
    instruction runs so far ahead that the live buffers exceed these bytes per partition; in a
    loop, those that it allocates.
    """
    out: list[Node] = []
    segment: list[Node] = []
    to_come = Counter(key for node in nodes for key in _touched(node))
    before: set[int] = set()
    windows = (window, narrow) if 0 < narrow < window else (window,)

    def flush() -> None:
        if segment:
            touched = [_touched(node) for node in segment]
            to_come.subtract(key for keys in touched for key in keys)
            after = {k for keys in touched for k in keys if to_come[k]}
            mine = frozenset().union(*touched)
            across = sum(
                rounded(listing.buffers[k].size)
                for k in before - mine
                if to_come[k] and _in_sbuf(listing.buffers[k], around)
            )
            room = None if sbuf is None else sbuf - across
            outside = _Outside(frozenset(before), frozenset(after), around, room)
            order = segment
            if demand:
                order = _by_demand(segment, _dependences(listing, _numbered(segment), around))
            out.extend(_order_segment(listing, order, outside, around, machine, windows))
            before.update(*touched)
            segment.clear()

    for node in nodes:
        if node.record is not None:
            segment.append(node)
            if node.index in cut:
                flush()
            continue
        flush()
        to_come.subtract(node.touched)
        before.update(node.touched)
        out.append(node)
    flush()
    return out


def attempts(window: int, rooms: Sequence[int]) -> Iterator[tuple[int, int | None]]:
    """Yield the windows to try for a block, and the bytes of SBUF within which instructions run
    ahead (None: any): the whole window with each of `rooms`, and smaller ones with the last.
    """
    yield window, None
    yield from ((window, room) for room in rooms)
    while window > 1:
        window //= 2
        yield window, rooms[-1] if rooms else None


@dataclass(frozen=True)
class _Outside:
    """The buffers that are accessed before a segment of a block, and after it, the loops around it,
    and the bytes of SBUF for its own buffers (None: any).
    """

    before: frozenset[int]
    after: frozenset[int]
    around: tuple[int, ...] = ()
    sbuf: int | None = None

    def demand(self, nodes: Sequence[Node], buffers: Sequence[Buffer]) -> Demand | None:
        """Return the demand of the segment in bytes of SBUF, without the stream of weights."""
        if self.sbuf is None:
            return None
        streams = stream_buffers(nodes, buffers)
        keys = {a.buffer for n in nodes for a in n.accesses} - streams.keys()
        sizes = {k: rounded(buffers[k].size) for k in keys if _in_sbuf(buffers[k], self.around)}
        constants = {k for k in sizes if buffers[k].role == "constant"}
        return Demand.of(nodes, sizes, self.sbuf, self.before, self.after | constants)


def _in_sbuf(buffer: Buffer, around: Sequence[int]) -> bool:
    """Return whether a buffer is in SBUF, outside of the ring, and allocated by the innermost
    loop.
    """
    own = not around or buffer.loop == around[-1]
    return own and buffer.space == Space.SBUF and buffer.ring < 0


def _touched(node: Node) -> frozenset[int]:
    return node.touched or frozenset(a.buffer for a in node.accesses)


def _numbered(segment: Sequence[Node]) -> list[Node]:
    return [n.numbered(i) for i, n in enumerate(segment)]


def _dependences(listing: Listing, nodes: Sequence[Node], around: tuple[int, ...]) -> Predecessors:
    shared: Shared = {LOOP + number: (0, 0) for number in around}
    return dependences(nodes, listing.buffers, listing.bounds, placed=False, shared=shared)


def _by_demand(segment: Sequence[Node], found: Predecessors, sharing: int = 1 << 30) -> list[Node]:
    """Return straight-line nodes in demand order; at most `sharing` products share a stationary."""
    records = [node.record for node in segment if node.record is not None]
    return [segment[i] for i in demand_order(records, found, sharing)]


def _order_segment(
    listing: Listing,
    segment: Sequence[Node],
    outside: _Outside,
    around: tuple[int, ...],
    machine: Machine,
    windows: Sequence[int],
) -> list[Node]:
    """Return straight-line nodes by start time, in the window that ends first.

    With two windows, demand order is also tried, and used if it ends sooner.
    """
    compared = len(windows) > 1 and len(segment) <= _COMPARED
    chosen = windows if compared else windows[:1]
    found = _dependences(listing, _numbered(segment), around)
    moved = _by_demand(segment, found, _SHARING) if compared else []
    end, order = _scheduled(listing, segment, outside, around, machine, chosen, found=found)
    if compared:
        other, by_demand = _scheduled(
            listing, moved, outside, around, machine, chosen, within_banks=True
        )
        if other < end * _WORTH:
            record("nc-schedule", "ns saved by the order of demand", round(end - other))
            return by_demand
    return order


def _keep_places(nodes: Sequence[Node], predecessors: Predecessors) -> None:
    """Let sums that PE starts early follow the products before them in program order.

    They are always ready, and would otherwise take a bank as soon as one is free, which is when the
    state of a recurrence is complete, and then delay its products.
    """
    last: int | None = None
    for i, node in enumerate(nodes):
        if node.record is None or node.record.engine != Engine.PE:
            continue
        if last is not None and EARLY in node.op.attributes:
            predecessors[i].setdefault(last, False)
        last = i


def _scheduled(
    listing: Listing,
    segment: Sequence[Node],
    outside: _Outside,
    around: tuple[int, ...],
    machine: Machine,
    windows: Sequence[int],
    *,
    within_banks: bool = False,
    found: Predecessors | None = None,
) -> tuple[float, list[Node]]:
    """Return the time (ns) of straight-line nodes and their order, in the window that ends first.

    `found` are their dependences, where they are known; they are changed. With `within_banks`, the
    time is infinite if `segment` in its given order needs more PSUM banks than exist.
    """
    buffers = listing.buffers
    nodes = _numbered(segment)
    predecessors = _dependences(listing, nodes, around) if found is None else found
    _keep_places(nodes, predecessors)
    banks = {a.buffer for n in nodes for a in n.accesses if buffers[a.buffer].space == Space.PSUM}
    elsewhere = outside.before & banks
    lasting = (outside.after & banks) - elsewhere
    psum = PsumDemand.of(nodes, buffers, machine, elsewhere, lasting)
    if psum is None and within_banks:
        return float("inf"), list(segment)
    if psum is None:  # then less conservatively: with the banks that the preceding loop used last
        left = elsewhere & outside.after
        psum = PsumDemand.of(nodes, buffers, machine, left, lasting, elsewhere - left)
    sbuf = outside.demand(nodes, buffers)
    works = [work_of(node.record, machine) for node in nodes if node.record is not None]
    arrivals: dict[int, float] = {}
    clock = 0.0
    for place in sorted(stream_buffers(nodes, buffers).values()):
        if around:  # loaded in the previous iteration
            arrivals[place] = -works[place].latency - machine.semaphore_latency_ns
            continue
        arrivals[place] = clock
        clock += works[place].dma
    spreads = {i for i, node in enumerate(nodes) if node.record and is_spread(node.record)}
    best: list[float] = []
    least = float("inf")
    for window in windows:
        start = list_schedule(
            works,
            predecessors,
            machine,
            window=window,
            fixed=arrivals,
            psum=psum,
            sbuf=sbuf,
            spreads=spreads,
            moves=True,
        )
        end = max(at + work.latency for at, work in zip(start, works, strict=True))
        if end <= least:  # if equal, the narrower window, whose buffers have shorter live ranges
            if best:
                record("nc-schedule", "ns saved by a narrower window", round(least - end))
            best, least = start, end
    sequence = sorted(range(len(nodes)), key=lambda i: (best[i], i))
    return least, [segment[i] for i in sequence]
