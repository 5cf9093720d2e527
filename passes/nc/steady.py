"""The steady state of loops, for `--pass-statistics`: the time of a round beside what bounds it.

Of a pipelined loop it is what the modulo schedule says. A loop over layers keeps its order, so its
rounds are timed one after the other, with the same model.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.dependence import dependences
from neuronir.passes.nc.listing import Buffer, Listing, Node
from neuronir.passes.nc.modulo import load
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.nc.schedule import list_schedule, work_of
from neuronir.passes.statistics import record

_ROUNDS = 3  # the first ones fill the engines


def report_steady(loop: str, interval: float, loads: dict[str, float]) -> None:
    """Count the interval (ns) of a loop, the load (ns a round) of its busiest resource, and the
    interval in per cent of that."""
    busiest = max(loads, key=lambda name: (loads[name], name))
    record("nc-order", f"{loop}: interval ns", round(interval))
    record("nc-order", f"{loop}: load of {busiest} ns", round(loads[busiest]))
    record("nc-order", f"{loop}: interval % of load", round(100 * interval / loads[busiest]))


def time_round(listing: Listing, loop: Node, machine: Machine) -> float:
    """Time (ns) from the end of one round to that of the next, in the order of the body; infinite
    where that needs more banks of PSUM than there are.

    Buffers of the body are fresh in each round. Its instructions are straight-line code.
    """
    nodes: list[Node] = []
    buffers = list(listing.buffers)
    for _ in range(_ROUNDS):
        fresh = _fresh(loop, listing.buffers, buffers)
        for node in loop.body:
            index = len(nodes)
            accesses = [
                replace(a, node=index, buffer=fresh.get(a.buffer, a.buffer)) for a in node.accesses
            ]
            nodes.append(replace(node, index=index, accesses=accesses))
    works = [work_of(n.record, machine) for n in nodes if n.record is not None]
    predecessors = dependences(nodes, buffers, listing.bounds, placed=False)
    banks = {a.buffer for n in nodes for a in n.accesses if buffers[a.buffer].space == Space.PSUM}
    outer = frozenset(k for k in banks if buffers[k].loop != loop.loop)
    psum = PsumDemand.of(nodes, buffers, machine, outer)
    if psum is None:
        return float("inf")
    start = list_schedule(works, predecessors, machine, window=1, psum=psum)
    size = len(loop.body)
    ends = [
        max(start[i] + works[i].latency for i in range(k * size, (k + 1) * size))
        for k in range(_ROUNDS)
    ]
    return ends[-1] - ends[-2]


def _fresh(loop: Node, known: Sequence[Buffer], buffers: list[Buffer]) -> dict[int, int]:
    """New keys for the buffers that a round has of its own."""
    fresh: dict[int, int] = {}
    for buffer in known:
        if buffer.loop == loop.loop:
            fresh[buffer.key] = len(buffers)
            buffers.append(replace(buffer, key=len(buffers)))
    return fresh


def report_layers(listing: Listing, machine: Machine, mark: str) -> None:
    """Count the steady state of every loop that has the attribute `mark`."""
    marked = [loop for loop in listing.loops if mark in loop.op.attributes]
    for number, loop in enumerate(marked, 1):
        works = [work_of(n.record, machine) for n in loop.body if n.record is not None]
        time = time_round(listing, loop, machine)
        if isfinite(time):
            report_steady(f"layer loop {number}", time, load(works))
