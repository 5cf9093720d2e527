"""Order the bodies of loops."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.listing import Buffer, Listing, Node
from neuronir.passes.nc.liveness import deep_lifetimes, peak, rounded
from neuronir.passes.nc.order_block import attempts, order_block
from neuronir.passes.nc.pipeline_emit import PIPELINED
from neuronir.passes.nc.prefetch import PREFETCHED


def order_bodies(
    listing: Listing,
    nodes: Sequence[Node],
    around: tuple[int, ...],
    machine: Machine,
    window: int,
    capacity: int,
) -> list[Node]:
    """Return the nodes of a block with the bodies of its loops in order.

    If the live buffers of a loop do not fit, its instructions only run ahead where they do, and
    then the window is halved, because spilling only works outside of loops. If no window fits, the
    body keeps its order.
    """
    out: list[Node] = []
    for node in nodes:
        if node.record is None and not {PIPELINED, PREFETCHED} & set(node.op.attributes):
            inside = (*around, node.loop)
            body = order_bodies(listing, node.body, inside, machine, window, capacity)
            room = capacity - _lasting_bytes(node, listing.buffers)
            for narrow, sbuf in attempts(window, [room]) if window and room >= 0 else ():
                order = order_block(listing, body, inside, machine, narrow, sbuf=sbuf)
                if _peak_inside(replace(node, body=order), listing.buffers) <= capacity:
                    body = order
                    break
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
