"""nc-order: assign engines, and schedule the instructions of each engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.structure import AddressOfOp, FuncOp, VariableOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.engines import QueueAllotter, assign_engines, place_register_loads
from neuronir.passes.nc.inline import inline_calls
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
    clipped,
    deep_lifetimes,
    fixed_in_ring,
    peak,
    rounded,
    stream_buffers,
    usable_sbuf,
)
from neuronir.passes.nc.order_block import order_block
from neuronir.passes.nc.order_loops import order_bodies, prefetch_loops
from neuronir.passes.nc.pipeline import pipeline_loops
from neuronir.passes.nc.pipeline_emit import PIPELINED
from neuronir.passes.nc.prefetch import PREFETCHED
from neuronir.passes.nc.reload import reload_streams
from neuronir.passes.nc.replay import replay_ns
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.passes.nc.rewrite import fold_constants, hoist_buffers, write_order
from neuronir.passes.nc.split_transfers import PIECE, SCHEDULED, split_transfers
from neuronir.passes.nc.steady import report_layers
from neuronir.passes.nc.streams import Ring, place_streams
from neuronir.passes.nc.triggers import choose_triggers
from neuronir.passes.nc.unroll import drop_barriers, unroll_small_loops
from neuronir.passes.statistics import gains, record

_BODY_SHARE = 0.9
"""The fraction of SBUF that the body of a loop may take: packing leaves gaps."""


@dataclass(frozen=True)
class NcOrderPass(ModulePass):
    """Assign an engine to every instruction and schedule the streams of the engines.

    Straight-line code is list-scheduled with the cost model, and innermost loops are
    software-pipelined. Loops over layers prefetch the weights of their next iteration. [The nc
    dialect](nc-dialect.md#passes) describes the algorithm.
    """

    name = "nc-order"
    window: int = field(
        default=384,
        metadata={
            "help": (
                "number of positions by which an instruction may move ahead of the "
                "first one that has not started"
            )
        },
    )
    narrow: int = field(
        default=64,
        metadata={"help": "second window to try for straight-line code outside loops; 0: none"},
    )
    unroll: int = field(
        default=2000,
        metadata={
            "help": (
                "largest number of instructions of an unrolled loop; pipelined "
                "innermost loops of 32 or more iterations are not unrolled"
            )
        },
    )
    prefetch: bool = field(
        default=True,
        metadata={"help": "let loops over layers load the weights of their next iteration"},
    )
    rotate: bool = field(
        default=True,
        metadata={"help": "let them also execute work of the next iteration that needs no weights"},
    )
    pipeline: bool = field(
        default=True, metadata={"help": "overlap the iterations of other innermost loops"}
    )
    piece: int = field(
        default=PIECE,
        metadata={
            "help": (
                "smallest size in bytes of the pieces in which values that the program "
                "wrote to HBM are loaded outside loops; 0: not split"
            )
        },
    )
    sbuf: int = field(
        default=0, metadata={"help": "bytes per partition to plan with; 0: those of the machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Order every function of the module."""
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        kinds = variables(op)
        capacity = usable_sbuf(machine, self.sbuf)
        with bodies_in_place(op):
            inline_calls(op)
            queues = QueueAllotter(machine, kinds, walk(op))
            for func in functions(op):
                self._order(func, kinds, machine, capacity, queues)
        op.attributes["neuronir.phase"] = StringAttr("ordered")

    def _order(
        self,
        func: FuncOp,
        kinds: Mapping[str, VariableOp],
        machine: Machine,
        capacity: int,
        queues: QueueAllotter,
    ) -> None:
        block = func.body.block
        fold_constants(block)
        drop_barriers(block)
        unroll_small_loops(block, self.unroll, self.pipeline)
        cut, pieces = split_transfers(block, self.piece, partial(loads_own, kinds))
        record(self.name, "loads in pieces", cut)
        record(self.name, "pieces of loads", pieces)
        func.attributes[SCHEDULED] = UnitAttr()
        assign_engines(block, machine, queues)
        choose_triggers(block, machine, queues)
        place_register_loads(block, machine)
        hoist_buffers(block)
        if self.prefetch:
            prefetch_loops(func, kinds, machine, self.window, capacity, self.rotate)
            hoist_buffers(block)
        if self.pipeline:
            pipeline_loops(func, kinds, machine, capacity)
        listing = list_function(func, kinds, placed=False)
        if reload_streams(listing, machine, capacity):
            hoist_buffers(block)
            listing = list_function(func, kinds, placed=False)
        report_layers(listing, machine, PREFETCHED)
        order_function(listing, machine, self.window, capacity, self.narrow)
        record(self.name, "matmuls that reuse their stationary", mark_reuse(block))


def loads_own(kinds: Mapping[str, VariableOp], target: View, source: View) -> bool:
    """Return whether the loaded data was stored to HBM by the program itself."""
    variable = source.buffer.owner
    if not isinstance(variable, AddressOfOp):
        return False
    return kinds[variable.variable.root_reference.data].kind.data == "scratch"


def order_function(
    listing: Listing, machine: Machine, window: int, capacity: int, narrow: int = 0
) -> None:
    """Order all blocks of a function, and reorder its ops accordingly.

    With `narrow`, that window is tried too, and used if it is narrower. The window is halved until
    the live buffers leave room for the weight stream.
    """
    buffers = listing.buffers
    streams = stream_buffers(listing.nodes, buffers)
    fixed = fixed_in_ring(buffers)
    two = sum(sorted((rounded(buffers[k].size) for k in streams), reverse=True)[:2])
    room = max([two, *(end for _, end in fixed.values())])  # for the loops that prefetch
    cut = frozenset[int]()
    ring = [n.index for n in listing.nodes if any(a.buffer in fixed for a in n.accesses)]
    nodes = order_bodies(listing, listing.nodes, (), machine, window, int(capacity * _BODY_SHARE))
    while True:
        order = order_block(listing, nodes, (), machine, max(window, 1), cut, narrow=narrow)
        lives, length = deep_lifetimes(order, buffers)
        ringed = {*streams, *fixed}
        keys = [k for k in lives if k not in ringed and buffers[k].space == Space.SBUF]
        end = max((lives[k].last for k in fixed), default=length)
        early = clipped({k: lives[k] for k in keys}, 0, end)
        late = clipped({k: lives[k] for k in keys}, end + 1, length)
        needed = peak(early, buffers, list(early), length)[0]
        later = peak(late, buffers, list(late), length)[0]
        if max(needed + room, later + two) <= capacity or window <= 1:
            break
        if ring and not cut:  # keep later instructions from moving to where the ring is needed
            cut = frozenset([max(ring)])
            continue
        window //= 2
    if gains():
        _report(listing, order, machine)
    order = ring_order(order, buffers, max(capacity - needed, room))
    record("nc-order", "instructions", length)
    write_order(listing.func.body.block, order)


def _report(listing: Listing, order: Sequence[Node], machine: Machine) -> None:
    """Report the gain of list scheduling, except for loops that are already ordered."""
    skipped = frozenset({PIPELINED, PREFETCHED})
    for name, nodes in (("program order", listing.nodes), ("the order chosen", order)):
        time = replay_ns(listing, nodes, machine, skipped=skipped)
        record("nc-order", f"list scheduling: estimated ns in {name}", round(time))


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
