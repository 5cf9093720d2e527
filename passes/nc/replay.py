"""Estimate the time of a block in a given order with the cost model, for `--pass-statistics`.

Engines start instructions in that order, each when its operands are available.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.dependence import Predecessors, Shared, dependences
from neuronir.passes.nc.list_schedule import list_schedule, work_of
from neuronir.passes.nc.listing import LOOP, Listing, Node
from neuronir.passes.nc.liveness import stream_buffers
from neuronir.passes.nc.psum import PsumDemand

Bytes = Mapping[int, tuple[int, int]]
"""By PSUM buffer, its first byte and the one after its last."""


_ROUNDS = 3
"""Iterations of a loop that are replayed: later ones take as long as the last of these."""


def replay_ns(
    listing: Listing,
    nodes: Sequence[Node],
    machine: Machine,
    *,
    around: tuple[int, ...] = (),
    skipped: frozenset[str] = frozenset(),
    psum: Bytes | None = None,
) -> float:
    """Return the time (ns) of a block in the order of `nodes`; loops start after everything before
    them.

    The weight stream arrives as early as DMA can load it; in loops it was loaded in the previous
    iteration. Loops with an attribute in `skipped` take no time. With `psum`, buffers wait for
    earlier users of their bytes; without it, any free bank of the machine will do.
    """
    total = 0.0
    segment: list[Node] = []
    for node in (*nodes, None):
        if node is not None and node.record is not None:
            segment.append(node)
            continue
        if segment:
            total += _straight_ns(listing, segment, machine, around, psum)
            segment = []
        if node is None or skipped & set(node.op.attributes):
            continue
        inside = (*around, node.loop)
        if all(n.record is not None for n in node.body):
            total += _rounds_ns(listing, node, machine, inside, psum)
        else:
            total += node.trip_count * replay_ns(
                listing, node.body, machine, around=inside, skipped=skipped, psum=psum
            )
    return total


def _rounds_ns(
    listing: Listing, loop: Node, machine: Machine, around: tuple[int, ...], psum: Bytes | None
) -> float:
    """Return the time (ns) of all iterations of a straight-line loop, which may overlap.

    No iteration reads what another one writes to HBM.
    """
    buffers = list(listing.buffers)
    nodes: list[Node] = []
    times: list[float] = []
    for _ in range(min(_ROUNDS, loop.trip_count)):
        fresh: dict[int, int] = {}
        for buffer in listing.buffers:
            if buffer.space == Space.HBM:
                fresh[buffer.key] = len(buffers)
                buffers.append(replace(buffer, key=len(buffers)))
        for node in loop.body:
            accesses = [replace(a, buffer=fresh.get(a.buffer, a.buffer)) for a in node.accesses]
            nodes.append(replace(node, accesses=accesses))
        times.append(_straight_ns(replace(listing, buffers=buffers), nodes, machine, around, psum))
    if len(times) < _ROUNDS:
        return times[-1] if times else 0.0
    return times[-1] + (loop.trip_count - _ROUNDS) * (times[-1] - times[-2])


def _straight_ns(
    listing: Listing,
    segment: Sequence[Node],
    machine: Machine,
    around: tuple[int, ...],
    psum: Bytes | None,
) -> float:
    buffers = listing.buffers
    nodes = [n.numbered(i) for i, n in enumerate(segment)]
    shared: Shared = {LOOP + number: (0, 0) for number in around}
    predecessors = dependences(nodes, buffers, listing.bounds, placed=False, shared=shared)
    demand = None
    if psum is None:
        demand = PsumDemand.of(nodes, buffers, machine)
    else:
        _follow(nodes, psum, predecessors)
    works = [work_of(n.record, machine) for n in nodes if n.record is not None]
    arrivals: dict[int, float] = {}
    if around:
        for i, node in enumerate(nodes):
            if any(a.write and buffers[a.buffer].role == "stream" for a in node.accesses):
                arrivals[i] = -works[i].latency - machine.semaphore_latency_ns
    else:
        clock = 0.0
        for place in sorted(stream_buffers(nodes, buffers).values()):
            arrivals[place] = clock
            clock += works[place].dma
    start = list_schedule(works, predecessors, machine, window=1, fixed=arrivals, psum=demand)
    return max(s + w.latency for s, w in zip(start, works, strict=True))


def _follow(nodes: Sequence[Node], psum: Bytes, predecessors: Predecessors) -> None:
    """Make the users of a buffer follow all earlier users of its bytes."""
    touched: dict[int, list[int]] = {}  # buffers that have their bytes: by which instruction
    before: dict[int, list[int]] = {}
    for node in nodes:
        for key in sorted({a.buffer for a in node.accesses if a.buffer in psum}):
            if key not in touched:
                low, high = psum[key]
                gone = [k for k in touched if psum[k][0] < high and low < psum[k][1]]
                before[key] = [place for k in gone for place in touched.pop(k)]
                touched[key] = []
            for place in before[key]:
                predecessors[node.index].setdefault(place, False)
            touched[key].append(node.index)
