"""Order the bodies of loops, and let loops with a weight stream prefetch it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from xdsl.dialects import scf

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import FuncOp, VariableOp
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.listing import (
    Buffer,
    Listing,
    Node,
    list_function,
)
from neuronir.passes.nc.liveness import (
    deep_lifetimes,
    peak,
    rounded,
    stream_buffers,
)
from neuronir.passes.nc.order_block import order_block
from neuronir.passes.nc.pipeline_emit import PIPELINED
from neuronir.passes.nc.prefetch import PREFETCHED, has_stream, prefetch_loop
from neuronir.passes.nc.rotate import rotate_loop
from neuronir.passes.nc.steady import time_round
from neuronir.passes.statistics import gains, record


def prefetch_loops(
    func: FuncOp,
    kinds: Mapping[str, VariableOp],
    machine: Machine,
    window: int,
    capacity: int,
    rotate: bool,
) -> None:
    """Order the body of every loop with stream buffers, and prefetch its loads."""
    loops = [op for op in ops_of(func.body.block) if isinstance(op, scf.ForOp) and has_stream(op)]
    for op in loops:
        listing, loop = _listed(func, kinds, op)
        if any(n.record is None for n in loop.body):
            record("nc-order", "loops that do not load ahead")
            continue
        plain = _order_loop(listing, loop, machine, window)
        if gains() and isfinite(plain.time):
            saved = _round_ns(listing, loop, loop.body, machine) - plain.time
            record("nc-order", "list scheduling: ns of a round saved", round(saved))
        rotation = rotate_loop(listing, loop) if rotate else None
        if rotation is not None:
            turned = _listed(func, kinds, op)
            body = _order_loop(*turned, machine, window)
            saved = plain.time - body.time
            if (
                isfinite(saved)
                and saved > 0
                and _load_ahead(*turned, machine, window, capacity, body)
            ):
                record("nc-order", "ns of a round saved by rotation", round(saved))
                rotation.keep()
                continue
            rotation.undo()
        if not _load_ahead(listing, loop, machine, window, capacity, plain):
            record("nc-order", "loops that do not load ahead")


def _listed(func: FuncOp, kinds: Mapping[str, VariableOp], op: scf.ForOp) -> tuple[Listing, Node]:
    """Return a function and one of its loops."""
    listing = list_function(func, kinds, placed=False)
    return listing, next(n for n in listing.nodes if n.op is op)


def _load_ahead(
    listing: Listing, loop: Node, machine: Machine, window: int, capacity: int, body: "_Body"
) -> bool:
    """Make a loop prefetch its weights, in the order `body` or in the order of a narrower window.

    Returns False if SBUF has no room.
    """
    while not prefetch_loop(listing, loop, body.order, capacity):
        window //= 2
        if not window:
            return False
        body = _order_loop(listing, loop, machine, window)
    return True


@dataclass(frozen=True)
class _Body:
    """The ordered body of a loop, and the time (ns) of its iterations without the stream."""

    order: list[Node]
    time: float


def _order_loop(listing: Listing, loop: Node, machine: Machine, window: int) -> _Body:
    """Return the ordered body of a loop, scheduled from program order or demand order.

    The order with the shorter iterations is used.
    """
    best: _Body | None = None
    for demand in (False, True):
        order = order_block(listing, loop.body, (loop.loop,), machine, window, demand=demand)
        time = _round_ns(listing, loop, order, machine)
        if best is None:
            best = _Body(order, time)
            continue
        saved = max(best.time - time, 0.0)
        if isfinite(saved):
            record("nc-order", "ns of a round saved by the order of demand", round(saved))
        if time < best.time:
            best = _Body(order, time)
    assert best is not None
    return best


def _round_ns(listing: Listing, loop: Node, order: Sequence[Node], machine: Machine) -> float:
    """Return the time (ns) of a loop iteration in that order, without the stream."""
    streams = set(stream_buffers(order, listing.buffers).values())
    rest = [n for i, n in enumerate(order) if i not in streams]
    return time_round(listing, replace(loop, body=rest), machine)


def order_bodies(
    listing: Listing,
    nodes: Sequence[Node],
    around: tuple[int, ...],
    machine: Machine,
    window: int,
    capacity: int,
) -> list[Node]:
    """Return the nodes of a block with the bodies of its loops in order.

    For each loop the window is halved until its live buffers fit, because spilling only works
    outside of loops. If no window fits, the body keeps its order.
    """
    out: list[Node] = []
    for node in nodes:
        if node.record is None and not {PIPELINED, PREFETCHED} & set(node.op.attributes):
            inside = (*around, node.loop)
            body = order_bodies(listing, node.body, inside, machine, window, capacity)
            narrow = window if _lasting_bytes(node, listing.buffers) <= capacity else 0
            while narrow:
                order = order_block(listing, body, inside, machine, narrow)
                if _peak_inside(replace(node, body=order), listing.buffers) <= capacity:
                    body = order
                    break
                narrow //= 2
            node = replace(node, body=body)
        out.append(node)
    return out


def _lasting_bytes(loop: Node, buffers: Sequence[Buffer]) -> int:
    """Return the bytes of SBUF that are live throughout a loop: outer buffers, in any order."""
    return sum(
        rounded(buffers[key].size)
        for key in loop.touched
        if buffers[key].space == Space.SBUF and not loop.loop <= buffers[key].loop <= loop.last_loop
    )


def _peak_inside(loop: Node, buffers: Sequence[Buffer]) -> int:
    """Return the maximum bytes of SBUF that are live at once in a loop, for buffers that it
    uses.
    """
    lives, length = deep_lifetimes([loop], buffers)
    keys = [k for k in lives if buffers[k].space == Space.SBUF]
    return peak(lives, buffers, keys, length)[0]
