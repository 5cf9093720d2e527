"""nc-order: assign engines, and schedule the instructions of each engine."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.structure import AddressOfOp, FuncOp, VariableOp
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.demand_order import demand_order
from neuronir.passes.nc.dependence import Shared, dependences
from neuronir.passes.nc.engines import QueueAllotter, assign_engines
from neuronir.passes.nc.inline import inline_calls
from neuronir.passes.nc.listing import (
    LOOP,
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
from neuronir.passes.nc.pipeline import pipeline_loops
from neuronir.passes.nc.pipeline_emit import PIPELINED
from neuronir.passes.nc.prefetch import PREFETCHED, has_stream, prefetch_loop
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.nc.reload import reload_streams
from neuronir.passes.nc.replay import replay_ns
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.passes.nc.rewrite import fold_constants, hoist_buffers, write_order
from neuronir.passes.nc.rotate import rotate_loop
from neuronir.passes.nc.schedule import is_spread, list_schedule, work_of
from neuronir.passes.nc.split_transfers import PIECE, SCHEDULED, split_transfers
from neuronir.passes.nc.steady import report_layers, time_round
from neuronir.passes.nc.streams import Ring, place_streams
from neuronir.passes.nc.triggers import choose_triggers
from neuronir.passes.nc.unroll import drop_barriers, unroll_small_loops
from neuronir.passes.statistics import gains, record

_BODY_SHARE = 0.9
"""The fraction of SBUF that the body of a loop may take: packing leaves gaps."""

_COMPARED = 4000
"""Limit of straight-line instructions for comparing two windows and two orders, which takes four
times as long.
"""

_SHARING = 2
"""Products of a stationary operand that stay together in straight-line code."""

_WORTH = 0.98
"""The fraction of the estimated time in program order that demand order must beat."""


@dataclass(frozen=True)
class NcOrder(ModulePass):
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
    """A function, and one of its loops."""
    listing = list_function(func, kinds, placed=False)
    return listing, next(n for n in listing.nodes if n.op is op)


def _load_ahead(
    listing: Listing, loop: Node, machine: Machine, window: int, capacity: int, body: "_Body"
) -> bool:
    """Let a loop prefetch in the order `body`, or in that of a narrower window.

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
    """Return the ordered body of a loop, and the time (ns) of its iterations without the stream."""

    order: list[Node]
    time: float


def _order_loop(listing: Listing, loop: Node, machine: Machine, window: int) -> _Body:
    """Return the ordered body of a loop, scheduled from program order or demand order.

    The order with the shorter iterations is used.
    """
    best: _Body | None = None
    for demand in (False, True):
        order = _order_block(listing, loop.body, (loop.loop,), machine, window, demand=demand)
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
    nodes = _order_bodies(listing, listing.nodes, (), machine, window, int(capacity * _BODY_SHARE))
    while True:
        order = _order_block(listing, nodes, (), machine, max(window, 1), cut, narrow=narrow)
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


def _order_bodies(
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
            body = _order_bodies(listing, node.body, inside, machine, window, capacity)
            narrow = window if _lasting_bytes(node, listing.buffers) <= capacity else 0
            while narrow:
                order = _order_block(listing, body, inside, machine, narrow)
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


def _order_block(
    listing: Listing,
    nodes: Sequence[Node],
    around: tuple[int, ...],
    machine: Machine,
    window: int,
    cut: frozenset[int] = frozenset(),
    demand: bool = False,
    narrow: int = 0,
) -> list[Node]:
    """Return the nodes of a block in order; loops keep their positions.

    Nothing moves across the end of the nodes `cut`. With `demand`, straight-line code is scheduled
    from demand order; with `narrow`, that window is tried too.
    """
    out: list[Node] = []
    segment: list[Node] = []
    to_come = Counter(key for node in nodes for key in _touched(node))
    before: set[int] = set()
    windows = (window, narrow) if 0 < narrow < window else (window,)

    def flush() -> None:
        if segment:
            touched = [_touched(node) for node in segment]
            to_come.subtract(key for keys in touched for key in keys)
            after = {k for keys in touched for k in keys if to_come[k]}
            outside = Outside(frozenset(before), frozenset(after))
            order = segment
            if demand:
                order = _by_demand(listing, segment, around)
            out.extend(_order_segment(listing, order, outside, around, machine, windows))
            before.update(*touched)
            segment.clear()

    for node in nodes:
        if node.record is not None:
            segment.append(node)
            if node.index in cut:
                flush()
            continue
        flush()
        to_come.subtract(node.touched)
        before.update(node.touched)
        out.append(node)
    flush()
    return out


@dataclass(frozen=True)
class Outside:
    """Return the buffers accessed before a segment of a block, and after it."""

    before: frozenset[int]
    after: frozenset[int]


def _touched(node: Node) -> frozenset[int]:
    return node.touched or frozenset(a.buffer for a in node.accesses)


def _numbered(segment: Sequence[Node]) -> list[Node]:
    return [n.numbered(i) for i, n in enumerate(segment)]


def _by_demand(
    listing: Listing, segment: Sequence[Node], around: tuple[int, ...], sharing: int = 1 << 30
) -> list[Node]:
    """Return straight-line nodes in demand order; at most `sharing` products share a stationary."""
    nodes = _numbered(segment)
    shared: Shared = {LOOP + number: (0, 0) for number in around}
    found = dependences(nodes, listing.buffers, listing.bounds, placed=False, shared=shared)
    records = [node.record for node in nodes if node.record is not None]
    return [segment[i] for i in demand_order(records, found, sharing)]


def _order_segment(
    listing: Listing,
    segment: Sequence[Node],
    outside: Outside,
    around: tuple[int, ...],
    machine: Machine,
    windows: Sequence[int],
) -> list[Node]:
    """Return straight-line nodes by start time, in the window that ends first.

    With two windows, demand order is also tried, and used if it ends sooner.
    """
    compared = len(windows) > 1 and len(segment) <= _COMPARED
    chosen = windows if compared else windows[:1]
    end, order = _scheduled(listing, segment, outside, around, machine, chosen)
    if compared:
        moved = _by_demand(listing, segment, around, _SHARING)
        other, by_demand = _scheduled(
            listing, moved, outside, around, machine, chosen, within_banks=True
        )
        if other < end * _WORTH:
            record("nc-order", "ns saved by the order of demand", round(end - other))
            return by_demand
    return order


def _scheduled(
    listing: Listing,
    segment: Sequence[Node],
    outside: Outside,
    around: tuple[int, ...],
    machine: Machine,
    windows: Sequence[int],
    *,
    within_banks: bool = False,
) -> tuple[float, list[Node]]:
    """Return the time (ns) of straight-line nodes and their order, in the window that ends first.

    With `within_banks`, the time is infinite if more PSUM is live in the resulting order than
    exists.
    """
    buffers = listing.buffers
    nodes = _numbered(segment)
    shared: Shared = {LOOP + number: (0, 0) for number in around}
    predecessors = dependences(nodes, buffers, listing.bounds, placed=False, shared=shared)
    banks = {a.buffer for n in nodes for a in n.accesses if buffers[a.buffer].space == Space.PSUM}
    elsewhere = outside.before & banks
    lasting = (outside.after & banks) - elsewhere
    psum = PsumDemand.of(nodes, buffers, machine, elsewhere, lasting)
    if psum is None and within_banks:
        return float("inf"), list(segment)
    if psum is None:  # then less conservatively: with the banks that the preceding loop used last
        left = elsewhere & outside.after
        psum = PsumDemand.of(nodes, buffers, machine, left, lasting, elsewhere - left)
    works = [work_of(node.record, machine) for node in nodes if node.record is not None]
    arrivals: dict[int, float] = {}
    clock = 0.0
    for place in sorted(stream_buffers(nodes, buffers).values()):
        if around:  # loaded in the previous iteration
            arrivals[place] = -works[place].latency - machine.semaphore_latency_ns
            continue
        arrivals[place] = clock
        clock += works[place].dma
    spreads = {i for i, node in enumerate(nodes) if node.record and is_spread(node.record)}
    best: list[float] = []
    least = float("inf")
    for window in windows:
        start = list_schedule(
            works,
            predecessors,
            machine,
            window=window,
            fixed=arrivals,
            psum=psum,
            spreads=spreads,
        )
        end = max(at + work.latency for at, work in zip(start, works, strict=True))
        if end <= least:  # if equal, the narrower window, whose buffers have shorter live ranges
            if best:
                record("nc-order", "ns saved by a narrower window", round(least - end))
            best, least = start, end
    sequence = sorted(range(len(nodes)), key=lambda i: (best[i], i))
    return least, [segment[i] for i in sequence]


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
