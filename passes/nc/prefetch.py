"""nc-prefetch: let loops over layers load the weights of their next iteration.

prefetch_plan.py plans the ring and the positions of the loads. The loop gets a prologue with the
loads for iteration 0, and its last iteration, which has nothing left to prefetch, is peeled. In a
rotated loop (rotate.py) the peeled iteration omits the work for the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, FuncOp, VariableOp
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.layer_order import (
    ORDERED,
    Body,
    fitting,
    listed,
    plain_order,
    stream_loops,
)
from neuronir.passes.nc.listing import (
    RING,
    Listing,
    Node,
    functions,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import SBUF_HELP, rounded, usable_sbuf
from neuronir.passes.nc.order_block import WINDOW, WINDOW_HELP
from neuronir.passes.nc.peel import AHEAD, last_iteration, set_trip_count, unpeel
from neuronir.passes.nc.prefetch_plan import Load, Prefetch
from neuronir.passes.nc.rewrite import Linear, copy_with, hoist_buffers
from neuronir.passes.nc.unroll import copy_round
from neuronir.passes.statistics import record

PREFETCHED = "nc.prefetched"
"""Marks a loop whose body has its final order."""


@dataclass(frozen=True)
class NcPrefetchPass(ModulePass):
    """Let loops over layers load the weights of their next iteration.

    The stream buffers of a loop (`nc.alloc "stream"` in its body) get fixed positions in a ring
    (`nc.ring`, a byte offset). Each is loaded as early as there is room, usually in the previous
    iteration. The loads of iteration 0 move before the loop, and the last iteration, which has no
    next one to load for, is peeled. The body is scheduled first, unless nc-rotate has ordered it;
    if SBUF has no room for the ring, narrower windows are tried. The loop is marked
    `nc.prefetched`: its order is final. Loops of fewer than three iterations are not changed.
    """

    name = "nc-prefetch"
    window: int = field(
        default=WINDOW,
        metadata={"help": WINDOW_HELP},
    )
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the loops of every function that have a weight stream."""
        require_phase(op, self.name, "virtual")
        machine, kinds = machine_of(op), variables(op)
        capacity = usable_sbuf(machine, self.sbuf)
        with bodies_in_place(op):
            for func in functions(op):
                for loop in stream_loops(func):
                    self._loop(func, loop, kinds, machine, capacity)
                hoist_buffers(func.body.block)

    def _loop(
        self,
        func: FuncOp,
        op: scf.ForOp,
        kinds: Mapping[str, VariableOp],
        machine: Machine,
        capacity: int,
    ) -> None:
        unpeel(op)
        listing, loop = listed(func, kinds, op)
        if any(n.record is None for n in loop.body):
            record(self.name, "loops that do not load ahead")
            return
        if op.attributes.pop(ORDERED, None) is not None:
            body = Body(loop.body)
        else:
            body = plain_order(self.name, listing, loop, machine, self.window)
        found = fitting(self.name, listing, loop, machine, self.window, capacity, body)
        if found is None:
            record(self.name, "loops that do not load ahead")
            return
        _report(found.plan, listing)
        _Writer(listing, loop, found.plan).write()


def _report(plan: Prefetch, listing: Listing) -> None:
    record(NcPrefetchPass.name, "loops that load ahead")
    record(NcPrefetchPass.name, "loads ahead", sum(load.ahead for load in plan.loads))
    record(
        NcPrefetchPass.name,
        "ring bytes of loops",
        max(load.offset + rounded(listing.buffers[load.key].size) for load in plan.loads),
    )


class _Writer:
    """Rewrites a loop: moves its loads, adds a prologue, and peels the last iteration."""

    def __init__(self, listing: Listing, loop: Node, plan: Prefetch) -> None:
        self.buffers = listing.buffers
        self.trips = loop.trip_count
        self.plan = plan
        op = loop.op
        assert isinstance(op, scf.ForOp)
        self.op = op
        self.variable = op.body.block.args[0]

    def write(self) -> None:
        """Rewrite the loop."""
        block = self.op.parent
        assert block is not None
        plan = self.plan.loads
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
        kept = last_iteration([op for op in order if id(op) not in ahead])
        for op in order:
            op.attributes.pop(AHEAD, None)
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

    def _dma(self, load: Load) -> InstructionOp:
        op = self.plan.dma[load.key].op
        assert isinstance(op, InstructionOp)
        return op

    def _body(self, plan: Sequence[Load]) -> list[Operation]:
        """Emit the remaining allocations, then the instructions with the loads among them."""
        at: dict[int, list[Operation]] = {}
        for load in plan:
            at.setdefault(load.place, []).append(self._dma(load))
        hoisted = {id(self.buffers[load.key].op) for load in plan if load.ahead}
        kinds = (AllocOp, AddressOfOp, arith.ConstantOp)
        out: list[Operation] = [
            op for op in self.op.body.block.ops if isinstance(op, kinds) and id(op) not in hoisted
        ]
        for place, node in enumerate(self.plan.rest):
            out += at.get(place, ())
            out.append(node.op)
        return [*out, *at.get(len(self.plan.rest), ())]

    def _replace(self, order: Sequence[Operation]) -> None:
        """Give the loop its new body and one iteration less."""
        body = self.op.body.block
        for op in list(body.ops):
            if not isinstance(op, scf.YieldOp):
                op.detach()
        last = body.last_op
        assert last is not None
        body.insert_ops_before(list(order), last)
        set_trip_count(self.op, self.trips - 1)
        self.op.attributes[PREFETCHED] = UnitAttr()
