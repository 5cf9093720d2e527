"""Prefetch the weight stream of a loop: each iteration also loads for the next one.

The stream buffers of an iteration get fixed positions in a ring that is equal in every iteration.
Positions are chosen so that each buffer can be loaded as long before its first use as room permits.
A load is placed where its bytes become free, usually in the previous iteration. The loop therefore
gets a prologue with the loads for iteration 0, and its last iteration, which has nothing left to
prefetch, is peeled. In a rotated loop (rotate.py) the peeled iteration omits the work for the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.names import index_constant
from neuronir.passes.nc.listing import RING, Buffer, Listing, Node
from neuronir.passes.nc.liveness import (
    clipped,
    deep_lifetimes,
    lifetimes,
    peak,
    rounded,
    stream_buffers,
)
from neuronir.passes.nc.rewrite import Linear, copy_with
from neuronir.passes.nc.rotate import AHEAD
from neuronir.passes.nc.unroll import copy_round
from neuronir.passes.statistics import record

PREFETCHED = "nc.prefetched"
"""Marks a loop whose body has its final order."""
LEAST_ROUNDS = 3
"""Loops with fewer iterations do not prefetch."""

_MARGIN = 0.06  # part of SBUF left for gaps between other buffers
_STEPS = 32  # granularity of the prefetch distances that are tried


@dataclass(slots=True)
class _Load:
    """The position of a stream buffer in the ring, and the instruction before which it is loaded.

    With `ahead`, this is an instruction of the previous iteration.
    """

    key: int
    offset: int
    place: int
    ahead: bool


def has_stream(loop: scf.ForOp) -> bool:
    """Return whether a loop loads its own stream buffers."""
    return any(
        isinstance(op, AllocOp) and op.role is not None and op.role.data == "stream"
        for op in loop.body.block.ops
    )


def prefetch_loop(listing: Listing, loop: Node, body: Sequence[Node], capacity: int) -> bool:
    """Make a loop prefetch its weights; return False if SBUF has no room for a ring. `body` is its
    order.
    """
    buffers = listing.buffers
    if loop.trip_count < LEAST_ROUNDS or any(n.record is None for n in body):
        return False
    streams = stream_buffers(body, buffers)
    others = {k for k, b in enumerate(buffers) if b.role == "stream"}
    nodes = [replace(n, body=list(body)) if n is loop else n for n in listing.nodes]
    lives, length = deep_lifetimes(nodes, buffers)
    keys = [k for k in lives if k not in others and buffers[k].space == Space.SBUF]
    places = [n.place for n in body]
    during = clipped({k: lives[k] for k in keys}, min(places), max(places))
    room = capacity - peak(during, buffers, list(during), length)[0] - int(capacity * _MARGIN)
    dma = {k: body[p] for k, p in streams.items()}
    moved = {n.index for n in dma.values()}
    rest = [n for n in body if n.index not in moved]
    plan = _plan(rest, buffers, list(streams), room)
    if plan is None:
        return False
    record("nc-order", "loops that load ahead")
    record("nc-order", "loads ahead", sum(load.ahead for load in plan))
    record(
        "nc-order",
        "ring bytes of loops",
        max(load.offset + rounded(buffers[load.key].size) for load in plan),
    )
    _Writer(listing, loop, dma, rest).write(plan)
    return True


def _plan(
    rest: Sequence[Node], buffers: Sequence[Buffer], keys: Sequence[int], room: int
) -> list[_Load] | None:
    """Return the positions of the loads, each as early as SBUF has room for."""
    uses = lifetimes(rest, buffers)
    if any(k not in uses for k in keys):
        return None
    sequence = sorted(keys, key=lambda k: (uses[k].first, k))
    arcs = [_Arc(rounded(buffers[k].size), uses[k].first, uses[k].last) for k in sequence]
    length = len(rest)
    for step in range(_STEPS, -1, -1):
        lead = length * step // _STEPS
        offsets = _pack(arcs, lead, length)
        if max(o + a.size for o, a in zip(offsets, arcs, strict=True)) <= room:
            break
    else:
        return None
    places = _places(arcs, offsets, lead, length)
    return [
        _Load(k, offset, place + length if place < 0 else place, place < 0)
        for k, offset, place in zip(sequence, offsets, places, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Arc:
    """A stream buffer: its bytes, and the positions of its first and last use in the iteration."""

    size: int
    first: int
    last: int

    def meets(self, other: "_Arc", lead: int, length: int) -> bool:
        """Return whether both are live at once in some iterations of `length` positions.

        Each is loaded `lead` positions before its first use.
        """
        if max(self.last - self.first, other.last - other.first) + lead >= length:
            return True
        return any(
            self.first - lead <= other.last + turn and other.first - lead + turn <= self.last
            for turn in (-length, 0, length)
        )


def _pack(arcs: Sequence[_Arc], lead: int, length: int) -> list[int]:
    """Return an offset for each buffer: the lowest that is free in all iterations."""
    offsets = [0] * len(arcs)
    placed: list[int] = []
    for i in sorted(range(len(arcs)), key=lambda i: (-arcs[i].size, i)):
        taken = sorted(
            (offsets[j], offsets[j] + arcs[j].size)
            for j in placed
            if arcs[i].meets(arcs[j], lead, length)
        )
        at = 0
        for begin, end in taken:
            if begin - at >= arcs[i].size:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append(i)
    return offsets


def _places(arcs: Sequence[_Arc], offsets: Sequence[int], lead: int, length: int) -> list[int]:
    """Return the instruction before which each load is placed; negative in the previous iteration.

    Loads are as early as their bytes are free, in the order of first uses.
    """
    places: list[int] = []
    for arc, offset in zip(arcs, offsets, strict=True):
        place = arc.last - length + 1
        for other, begin in zip(arcs, offsets, strict=True):
            if other is arc or begin >= offset + arc.size or offset >= begin + other.size:
                continue
            ends = (other.last + turn + 1 for turn in (-length, 0))
            place = max([place, *(e for e in ends if e <= max(arc.first - lead, 0))])
        places.append(place)
    before = max(places[-1] - length, -length)
    for i, place in enumerate(places):
        places[i] = before = max(place, before)
    return places


class _Writer:
    """Rewrites a loop: moves its loads, adds a prologue, and peels the last iteration."""

    def __init__(
        self, listing: Listing, loop: Node, dma: Mapping[int, Node], rest: Sequence[Node]
    ) -> None:
        self.buffers = listing.buffers
        self.trips = loop.trip_count
        self.dma = dma
        self.rest = rest
        op = loop.op
        assert isinstance(op, scf.ForOp)
        self.op = op
        self.variable = op.body.block.args[0]

    def write(self, plan: Sequence[_Load]) -> None:
        """Rewrite the loop."""
        block = self.op.parent
        assert block is not None
        order = self._body(plan)
        for load in plan:
            alloc = self.buffers[load.key].op
            assert alloc is not None
            alloc.attributes[RING] = IntegerAttr(load.offset, i64)
            if load.ahead:
                alloc.detach()
                block.insert_op_before(alloc, self.op)
        # the last iteration, which finds its data prefetched
        ahead = {id(self._dma(load)) for load in plan if load.ahead}
        same: dict[SSAValue, SSAValue] = {}
        kept = self._last_round([op for op in order if id(op) not in ahead])
        tail = copy_round(kept, {self.variable: Linear(None, 0, self.trips - 1)}, same)
        for op in tail:
            op.attributes.pop(RING, None)
        block.insert_ops_after(tail, self.op)
        for load in plan:
            if not load.ahead:
                continue
            dma = self._dma(load)
            block.insert_op_before(copy_with(dma, {}, {self.variable: Linear(None, 0, 0)}), self.op)
            following = copy_with(dma, {}, {self.variable: Linear(self.variable, 1, 1)})
            order[order.index(dma)] = following
            dma.detach()
            dma.erase()
        self._replace(order)

    def _last_round(self, order: Sequence[Operation]) -> list[Operation]:
        """Return the ops of a body in the last iteration, without work for a next one."""
        rest = [op for op in order if AHEAD not in op.attributes]
        for op in order:
            op.attributes.pop(AHEAD, None)
        used = {value for op in rest for value in op.operands}
        return [op for op in rest if not isinstance(op, AllocOp) or op.buffer in used]

    def _dma(self, load: _Load) -> InstructionOp:
        op = self.dma[load.key].op
        assert isinstance(op, InstructionOp)
        return op

    def _body(self, plan: Sequence[_Load]) -> list[Operation]:
        """Emit the remaining allocations, then the instructions with the loads among them."""
        at: dict[int, list[Operation]] = {}
        for load in plan:
            at.setdefault(load.place, []).append(self._dma(load))
        hoisted = {id(self.buffers[load.key].op) for load in plan if load.ahead}
        out: list[Operation] = [
            op for op in self.op.body.block.ops if isinstance(op, AllocOp) and id(op) not in hoisted
        ]
        for place, node in enumerate(self.rest):
            out += at.get(place, ())
            out.append(node.op)
        return [*out, *at.get(len(self.rest), ())]

    def _replace(self, order: Sequence[Operation]) -> None:
        """Give the loop its new body and one iteration less."""
        body = self.op.body.block
        for op in list(body.ops):
            if not isinstance(op, scf.YieldOp):
                op.detach()
        last = body.last_op
        assert last is not None
        body.insert_ops_before(list(order), last)
        bound = index_constant(self.trips - 1)
        block = self.op.parent
        assert block is not None
        block.insert_op_before(bound, self.op)
        self.op.operands[1] = bound.result
        self.op.attributes[PREFETCHED] = UnitAttr()
