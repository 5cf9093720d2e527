"""nc-order: engines, and the order in which each of them runs its instructions."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp
from neuronir.passes.nc.dependence import dependences
from neuronir.passes.nc.engines import QueueAllotter, assign_engines
from neuronir.passes.nc.listing import (
    Buffer,
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import lifetimes, peak, rounded, stream_buffers, usable_sbuf
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.nc.rewrite import fold_constants, hoist_buffers, reorder
from neuronir.passes.nc.schedule import Work, list_schedule, work_of
from neuronir.passes.nc.streams import Ring, place_streams
from neuronir.passes.nc.unroll import unroll_loop
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcOrder(ModulePass):
    """Give every instruction an engine and a place in that engine's stream.

    `window`: how many places an instruction may move ahead of the first one not yet started.
    `unroll`: loops of at most this many instructions in all are written out.
    `sbuf`: bytes per partition to plan with, in place of the machine's.
    """

    name = "nc-order"
    window: int = 384
    unroll: int = 2000
    sbuf: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Order every function of the module."""
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        kinds = variables(op)
        queues = QueueAllotter(machine, kinds)
        for func in functions(op):
            block = func.body.block
            fold_constants(block)
            for loop in [o for o in block.ops if isinstance(o, scf.ForOp)]:
                unroll_loop(loop)
            assign_engines(block, machine, queues)
            hoist_buffers(block)
            listing = list_function(func, kinds, placed=False)
            order = order_nodes(listing, machine, self.window, usable_sbuf(machine, self.sbuf))
            write_order(block, order)
        op.attributes["neuronir.phase"] = StringAttr("ordered")


def order_nodes(listing: Listing, machine: Machine, window: int, capacity: int) -> list[Node]:
    """The nodes of a straight-line block in the order of their start times.

    The window is halved until what is live at once leaves room for the weight stream.
    """
    nodes, buffers = listing.nodes, listing.buffers
    if not nodes:
        return []
    predecessors = dependences(nodes, buffers, listing.bounds, placed=False)
    psum = PsumDemand.of(nodes, buffers, machine)
    works = [
        Work(-1, 0.0, 0.0) if node.record is None else work_of(node.record, machine)
        for node in nodes
    ]
    streams = stream_buffers(nodes, buffers)
    arrivals: dict[int, float] = {}
    clock = 0.0
    for place in sorted(streams.values()):
        arrivals[place] = clock
        clock += works[place].dma
    room = sum(sorted((rounded(buffers[k].size) for k in streams), reverse=True)[:2])
    order: list[Node] = []
    while True:
        start = list_schedule(
            works, predecessors, machine, window=max(window, 1), fixed=arrivals, psum=psum
        )
        sequence = sorted(range(len(nodes)), key=lambda i: (start[i], i))
        order = [nodes[i] for i in sequence]
        needed = _peak(order, listing, streams)
        if needed + room <= capacity or window <= 1:
            break
        window //= 2
    record("nc-order", "instructions", len(nodes))
    return ring_order(order, buffers, max(capacity - needed, room))


def ring_order(order: list[Node], buffers: Sequence[Buffer], capacity: int) -> list[Node]:
    """`order` with the weight stream placed by a ring of `capacity` bytes.

    Buffers that no ring can hold stay where they are.
    """
    kept: set[int] = set()
    while True:
        ring = place_streams(order, buffers, capacity, frozenset(kept))
        if isinstance(ring, Ring):
            return ring.order
        kept.add(ring)


def _peak(order: list[Node], listing: Listing, streams: dict[int, int]) -> int:
    lives = lifetimes(order, listing.buffers)
    keys = [k for k in lives if k not in streams and listing.buffers[k].space == Space.SBUF]
    return peak(lives, listing.buffers, keys, len(order))[0]


def write_order(block: Block, order: Sequence[Node]) -> None:
    """Put the operations of a block into the order of its nodes, buffers first."""
    kinds = (AllocOp, AddressOfOp, arith.ConstantOp)
    top = [op for op in block.ops if isinstance(op, kinds)]
    last = block.last_op
    tail = [last] if last is not None else []
    reorder(block, [*top, *(node.op for node in order), *tail])
