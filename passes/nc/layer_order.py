"""Order the bodies of loops that have a weight stream, with the prefetch of the stream in view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from xdsl.dialects import scf
from xdsl.ir import Operation

from neuronir.dialects.nc.counts import count_load
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import AllocOp, FuncOp, VariableOp
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.listing import Listing, Node, list_function
from neuronir.passes.nc.liveness import stream_buffers
from neuronir.passes.nc.order_block import order_block
from neuronir.passes.nc.prefetch_plan import Prefetch, plan_prefetch
from neuronir.passes.nc.steady import time_round
from neuronir.passes.statistics import gains, record

ORDERED = "nc.ordered"
"""Marks a loop whose body nc-rotate has scheduled, until nc-prefetch has run."""


def stream_loops(func: FuncOp) -> list[scf.ForOp]:
    """Return the outer loops of a function that load stream buffers of their own.

    A loop whose trip count is loaded has no first iteration to prefetch for.
    """
    loops = [op for op in ops_of(func.body.block) if isinstance(op, scf.ForOp)]
    return [op for op in loops if any(map(is_stream, op.body.block.ops)) and count_load(op) is None]


def is_stream(op: Operation) -> bool:
    """Return whether an op allocates a buffer of the weight stream."""
    return isinstance(op, AllocOp) and op.role is not None and op.role.data == "stream"


def listed(func: FuncOp, kinds: Mapping[str, VariableOp], op: scf.ForOp) -> tuple[Listing, Node]:
    """Return a function and one of its loops."""
    listing = list_function(func, kinds, placed=False)
    return listing, next(n for n in listing.nodes if n.op is op)


@dataclass(frozen=True)
class Body:
    """The ordered body of a loop, and the time (ns) of its iterations without the stream."""

    order: list[Node]
    time: float = float("inf")


@dataclass(frozen=True)
class Fit:
    """An order of a body, and how its loop can prefetch in that order."""

    body: Body
    plan: Prefetch


def fitting(
    name: str,
    listing: Listing,
    loop: Node,
    machine: Machine,
    window: int,
    capacity: int,
    body: Body,
) -> Fit | None:
    """Return `body` with its prefetch, or if SBUF has no room the order of a narrower window.

    Returns None if no order leaves room. Statistics count for the pass `name`.
    """
    while True:
        plan = plan_prefetch(listing, loop, body.order, capacity)
        if plan is not None:
            return Fit(body, plan)
        window //= 2
        if not window:
            return None
        body = ordered_body(name, listing, loop, machine, window)


def plain_order(name: str, listing: Listing, loop: Node, machine: Machine, window: int) -> Body:
    """Return the ordered body of a loop, and record what the order gains."""
    body = ordered_body(name, listing, loop, machine, window)
    if gains() and isfinite(body.time):
        saved = _round_ns(listing, loop, loop.body, machine) - body.time
        record(name, "list scheduling: ns saved per iteration", round(saved))
    return body


def ordered_body(name: str, listing: Listing, loop: Node, machine: Machine, window: int) -> Body:
    """Return the ordered body of a loop, scheduled from program order or demand order.

    The order with the shorter iterations is used.
    """
    best: Body | None = None
    for demand in (False, True):
        order = order_block(listing, loop.body, (loop.loop,), machine, window, demand=demand)
        time = _round_ns(listing, loop, order, machine)
        if best is None:
            best = Body(order, time)
            continue
        saved = max(best.time - time, 0.0)
        if isfinite(saved):
            record(name, "ns saved per iteration by demand order", round(saved))
        if time < best.time:
            best = Body(order, time)
    assert best is not None
    return best


def _round_ns(listing: Listing, loop: Node, order: Sequence[Node], machine: Machine) -> float:
    """Return the time (ns) of a loop iteration in that order, without the stream."""
    streams = set(stream_buffers(order, listing.buffers).values())
    rest = [n for i, n in enumerate(order) if i not in streams]
    return time_round(listing, replace(loop, body=rest), machine)
