"""Report the gains of nc-allocate in `--pass-statistics`: shared bytes and the ring."""

from collections.abc import Mapping, Sequence

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.early import estimate_ns
from neuronir.passes.nc.listing import Buffer, Node
from neuronir.passes.nc.liveness import lifetimes, rounded
from neuronir.passes.nc.pack import Packing
from neuronir.passes.statistics import gains, record

PASS = "nc-allocate"


def report_packing(packing: Packing, least: int, apart: int, beside: int) -> None:
    """Report how close a packing is to the liveness bound.

    `apart` is the size of all buffers without sharing. `beside` are the buffers that are loaded
    during a loop.
    """
    record(PASS, "sbuf bytes per partition", packing.height)
    record(PASS, "sbuf bytes per partition that are live at once", least)
    record(PASS, "sbuf bytes per partition without sharing", apart)
    if packing.searched:
        record(PASS, "sbuf bytes per partition that the search saves", packing.saved)
    if beside:
        record(PASS, "buffers that are loaded while a loop runs", beside)


def report_ring(
    order: Sequence[Node], buffers: Sequence[Buffer], ringed: Mapping[int, int], machine: Machine
) -> None:
    """Report how far ahead of its use the weight stream is loaded.

    `ringed` are the buffers in the ring, whose order determines the order of the loads.
    """
    if not gains():
        return
    rest: list[Node] = []
    loads: dict[int, int] = {}
    for place, node in enumerate(order):
        key = next((a.buffer for a in node.accesses if a.write and a.buffer in ringed), None)
        if key is None or node.record is None:
            rest.append(node)
        else:
            loads[key] = place
    uses = lifetimes(rest, buffers)
    where = {node.index: place for place, node in enumerate(order)}
    first = {k: where[rest[uses[k].first].index] for k in loads}
    depths, most = [], 0
    for at in first.values():
        there = [k for k in loads if loads[k] < at <= first[k]]
        depths.append(len(there))
        most = max(most, sum(rounded(buffers[k].size) for k in there))
    if not depths:
        return
    record(PASS, "prefetch: loads", len(depths))
    record(PASS, "prefetch: depth (loads done or under way at a use, median)", _median(depths))
    record(PASS, "prefetch: bytes per partition ahead, at most", most)
    late: list[Node] = []
    by_place: dict[int, list[int]] = {}
    for key, at in first.items():
        by_place.setdefault(at, []).append(loads[key])
    moved = set(loads.values())
    for place, node in enumerate(order):
        late += [order[p] for p in by_place.get(place, ())]
        late += [] if place in moved else [node]
    keys = set(loads)
    record(
        PASS,
        "prefetch: estimated ns with loads where they are used",
        round(estimate_ns(late, buffers, keys, machine)),
    )
    time = estimate_ns(order, buffers, keys, machine)
    record(PASS, "prefetch: estimated ns with loads ahead", round(time))


def _median(numbers: Sequence[int]) -> int:
    return sorted(numbers)[len(numbers) // 2]
