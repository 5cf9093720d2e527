"""nc-schedule: order the instructions of every function with the cost model."""

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
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
from neuronir.passes.nc.liveness import (
    SBUF_HELP,
    Life,
    clipped,
    deep_lifetimes,
    fixed_in_ring,
    peak,
    rounded,
    stream_buffers,
    usable_sbuf,
)
from neuronir.passes.nc.order_block import WINDOW, WINDOW_HELP, attempts, order_block
from neuronir.passes.nc.order_loops import order_bodies
from neuronir.passes.nc.pipeline_emit import PIPELINED
from neuronir.passes.nc.place_sbuf import can_pack
from neuronir.passes.nc.prefetch import PREFETCHED
from neuronir.passes.nc.replay import replay_ns
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.passes.nc.rewrite import write_order
from neuronir.passes.nc.split_transfers import SCHEDULED
from neuronir.passes.nc.steady import report_layers
from neuronir.passes.nc.streams import Ring, place_streams
from neuronir.passes.statistics import gains, record

_BODY_SHARE = 0.9
"""The fraction of SBUF that the body of a loop may take: packing leaves gaps."""
_STRAIGHT_SHARES = (0.95, 0.9)
"""The same, of straight-line code that runs ahead while its live buffers fit: the second if the
buffers cannot be packed with the first.
"""


@dataclass(frozen=True)
class NcSchedulePass(ModulePass):
    """Order the instructions of every engine: list scheduling with the cost model.

    The order of the ops is then a merge of the streams of all engines, and the module is in phase
    `ordered`. Resources are the in-order engines, shared ports, activation tables, DMA engines and
    the eight PSUM banks. An instruction moves ahead by at most `window` positions. If the live
    buffers do not fit into SBUF then, it only moves ahead where they do. Straight-line code outside
    loops is also scheduled with window `narrow`, and from an order of demand (consumers before
    further producers); the shortest schedule is used. Bodies of loops are scheduled too, except for
    kernels of pipelined loops and loops that prefetch, whose order is final (`nc.pipelined`,
    `nc.prefetched`).

    The loads of the weight stream outside loops take the positions at which a ring in SBUF has room
    for them. Matmuls whose stationary operand is already loaded get `reuse = 1`. A scheduled
    function is marked `nc.scheduled`.
    """

    name = "nc-schedule"
    window: int = field(default=WINDOW, metadata={"help": WINDOW_HELP})
    narrow: int = field(
        default=64,
        metadata={"help": "second window to try for straight-line code outside loops; 0: none"},
    )
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Order every function of the module.

        Raises NIR_NC002 if an instruction has no engine.
        """
        require_phase(op, self.name, "virtual")
        machine, kinds = machine_of(op), variables(op)
        capacity = usable_sbuf(machine, self.sbuf)
        _require_engines(op)
        with bodies_in_place(op):
            for func in functions(op):
                func.attributes[SCHEDULED] = UnitAttr()
                listing = list_function(func, kinds, placed=False)
                report_layers(self.name, listing, machine, PREFETCHED)
                order_function(listing, machine, self.window, capacity, self.narrow)
                reused = mark_reuse(func.body.block)
                record(self.name, "matmuls that reuse their stationary", reused)
        op.attributes["neuronir.phase"] = StringAttr("ordered")


def _require_engines(module: ModuleOp) -> None:
    for op in walk(module):
        if isinstance(op, InstructionOp) and op.engine is None:
            raise NeuronError(
                "NIR_NC002",
                f"nc-schedule takes instructions with engines, this {op.name} has none",
                help="run nc-assign-engines first",
            )


def order_function(
    listing: Listing, machine: Machine, window: int, capacity: int, narrow: int = 0
) -> None:
    """Order all blocks of a function, and reorder its ops accordingly.

    With `narrow`, that window is tried too, and used if it is narrower. If the live buffers leave
    no room for the weight stream, instructions only run ahead where they do; if that is not enough,
    the window is halved.
    """
    buffers = listing.buffers
    streams = stream_buffers(listing.nodes, buffers)
    fixed = fixed_in_ring(buffers)
    two = sum(sorted((rounded(buffers[k].size) for k in streams), reverse=True)[:2])
    room = max([two, *(end for _, end in fixed.values())])  # for the loops that prefetch
    cut = frozenset[int]()
    ring = [n.index for n in listing.nodes if any(a.buffer in fixed for a in n.accesses)]
    nodes = order_bodies(listing, listing.nodes, (), machine, window, int(capacity * _BODY_SHARE))
    ringed = streams.keys() | fixed.keys()

    def measured(order: Sequence[Node]) -> _Needed:
        return _needed(order, buffers, ringed, fixed)

    def fits(needed: _Needed) -> bool:
        return max(needed.early + room, needed.late + two) <= capacity

    spills = not fits(measured(nodes))  # in program order: nothing can wait for room
    rooms = [] if spills else [int((capacity - room) * share) for share in _STRAIGHT_SHARES]
    for wide, sbuf in attempts(max(window, 1), rooms):
        order = order_block(listing, nodes, (), machine, wide, cut, narrow=narrow, sbuf=sbuf)
        needed = measured(order)
        if not fits(needed) and ring and not cut:
            # keep later instructions from moving to where the ring is needed
            cut = frozenset([max(ring)])
            order = order_block(listing, nodes, (), machine, wide, cut, narrow=narrow, sbuf=sbuf)
            needed = measured(order)
        if fits(needed):
            if sbuf is None or can_pack(needed.lives, buffers, needed.keys, capacity - room):
                break
    if gains():
        _report(listing, order, machine)
    order = ring_order(order, buffers, max(capacity - needed.early, room))
    record(NcSchedulePass.name, "instructions", needed.length)
    write_order(listing.func.body.block, order)


@dataclass(frozen=True)
class _Needed:
    """The live ranges of an order of `length` instructions, and the bytes per partition that the
    SBUF buffers `keys` need, where loops use the ring (`early`) and after them (`late`).
    """

    lives: dict[int, Life]
    length: int
    keys: list[int]
    early: int
    late: int


def _needed(
    order: Sequence[Node], buffers: Sequence[Buffer], ringed: Set[int], fixed: Collection[int]
) -> _Needed:
    """Return what an order needs, without the `ringed` buffers, of which loops use the `fixed`."""
    lives, length = deep_lifetimes(order, buffers)
    keys = [k for k in lives if k not in ringed and buffers[k].space == Space.SBUF]
    end = max((lives[k].last for k in fixed), default=length)
    early = clipped({k: lives[k] for k in keys}, 0, end)
    late = clipped({k: lives[k] for k in keys}, end + 1, length)
    return _Needed(
        lives,
        length,
        keys,
        peak(early, buffers, list(early), length)[0],
        peak(late, buffers, list(late), length)[0],
    )


def _report(listing: Listing, order: Sequence[Node], machine: Machine) -> None:
    """Report the gain of list scheduling, except for loops that are already ordered."""
    skipped = frozenset({PIPELINED, PREFETCHED})
    for name, nodes in (("program order", listing.nodes), ("the order chosen", order)):
        time = replay_ns(listing, nodes, machine, skipped=skipped)
        record(NcSchedulePass.name, f"list scheduling: estimated ns in {name}", round(time))


def ring_order(order: list[Node], buffers: Sequence[Buffer], capacity: int) -> list[Node]:
    """Place the weight stream of `order` with a ring of `capacity` bytes.

    Buffers that no ring can hold keep their positions.
    """
    kept: set[int] = set()
    while True:
        ring = place_streams(order, buffers, capacity, frozenset(kept))
        if isinstance(ring, Ring):
            return ring.order
        kept.add(ring)
