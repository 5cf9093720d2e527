"""Report the steady state of loops in `--pass-statistics`: iteration time and its bound.

For a pipelined loop this is the modulo schedule. A loop over layers keeps its order, so its
iterations are timed one after another with the same model.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.dependence import dependences
from neuronir.passes.nc.list_schedule import list_schedule, work_of
from neuronir.passes.nc.listing import Buffer, Listing, Node
from neuronir.passes.nc.modulo import load
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.statistics import record

_ROUNDS = 3  # the first ones fill the engines


def report_steady(name: str, loop: str, interval: float, loads: dict[str, float]) -> None:
    """Report the interval (ns) of a loop, the load of its busiest resource, and their ratio in %.

    The load is in ns per iteration. The pass `name` reports.
    """
    busiest = max(loads, key=lambda name: (loads[name], name))
    record(name, f"{loop}: interval ns", round(interval))
    record(name, f"{loop}: load of {busiest} ns", round(loads[busiest]))
    record(name, f"{loop}: interval % of load", round(100 * interval / loads[busiest]))


def time_round(listing: Listing, loop: Node, machine: Machine) -> float:
    """Return the time (ns) between the ends of two successive iterations, in body order.

    The result is infinite if that needs more PSUM banks than exist. Buffers of the body are new in
    each iteration. Its instructions are straight-line code.
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
    """Return new keys for the private buffers of an iteration."""
    fresh: dict[int, int] = {}
    for buffer in known:
        if buffer.loop == loop.loop:
            fresh[buffer.key] = len(buffers)
            buffers.append(replace(buffer, key=len(buffers)))
    return fresh


def report_layers(name: str, listing: Listing, machine: Machine, mark: str) -> None:
    """Report the steady state of every loop with the attribute `mark`."""
    marked = [loop for loop in listing.loops if mark in loop.op.attributes]
    for number, loop in enumerate(marked, 1):
        works = [work_of(n.record, machine) for n in loop.body if n.record is not None]
        time = time_round(listing, loop, machine)
        if isfinite(time):
            report_steady(name, f"layer loop {number}", time, load(works))
