"""nc-pipeline: software-pipeline innermost loops, so that a new iteration starts every II ns.

The loop becomes a prologue, a kernel loop and an epilogue. Step q of the new code runs the
instructions of stage s of iteration q - s, for every s. Buffers of the loop rotate: iteration i
uses copy i mod depth, and the kernel has as many steps as the deepest rotation has copies, so that
addresses stay fixed. If there is an outer loop and the dependences allow it, the epilogue of one of
its iterations is merged with the prologue of the next (pipeline_nest.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.counts import count_load
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.structure import ROLLED, AddressOfOp, FuncOp, VariableOp
from neuronir.dialects.support.loops import LoopOp
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.carried import Analysis
from neuronir.passes.nc.list_schedule import work_of
from neuronir.passes.nc.listing import (
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import SBUF_HELP, usable_sbuf
from neuronir.passes.nc.modulo import Edge, load
from neuronir.passes.nc.pipeline_emit import emit_loop, emit_nest
from neuronir.passes.nc.pipeline_nest import Nest, carried_around, find_nest
from neuronir.passes.nc.pipeline_plan import Plan, plan_loop
from neuronir.passes.nc.prefetch import PREFETCHED
from neuronir.passes.nc.steady import report_steady
from neuronir.passes.statistics import record

_LONGEST_BODY = 500

_WORTH = 0.97
"""The fraction of a plan's estimated time that a plan with a shorter interval and more code must
reach.
"""


@dataclass(frozen=True)
class NcPipelinePass(ModulePass):
    """Overlap the iterations of innermost loops (software pipelining).

    A loop is modulo-scheduled with the cost model: a new iteration starts every II ns. This
    initiation interval is the load of the busiest resource if dependences and SBUF allow it.
    Iteration i uses copy i mod n of a buffer that several iterations use at once. The loop becomes
    a prologue, a kernel (marked `nc.pipelined`: its order is final) and an epilogue. If the loop is
    inside another loop, the epilogue of one outer iteration overlaps the prologue of the next where
    dependences allow it; some iterations of the outer loop are unrolled for that, up to 2,000
    instructions.

    Loops marked `nc.rolled` or `nc.prefetched`, bodies with more than 500 instructions, and bodies
    that load registers are not changed. Constants and addresses of variables move out of loops.
    """

    name = "nc-pipeline"
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline the innermost loops of every function."""
        require_phase(op, self.name, "virtual")
        machine, kinds = machine_of(op), variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                pipeline_loops(func, kinds, machine, usable_sbuf(machine, self.sbuf))


def pipeline_loops(
    func: FuncOp, kinds: Mapping[str, VariableOp], machine: Machine, capacity: int
) -> None:
    """Pipeline every innermost loop of a function if that is profitable."""
    _hoist(func)
    if not any(isinstance(op, scf.ForOp) and _may_overlap(op) for op in walk(func)):
        return
    listing = list_function(func, kinds, placed=False)
    places = sum(1 for op in func.walk() if isinstance(op, InstructionOp))
    analysis = Analysis(listing, places)
    pipelined = 0
    for loop in listing.loops:
        body = loop.body
        if not body or len(body) > _LONGEST_BODY or any(n.record is None for n in body):
            continue
        if not _may_overlap(loop.op):
            continue
        if any(n.op.results for n in body):
            record(NcPipelinePass.name, "loops not pipelined (registers)")
            continue
        found = analysis.run_loop(loop)
        number = {n.place: i for i, n in enumerate(body)}
        edges = [
            Edge(number[d.before], i, d.distance, d.data)
            for i, n in enumerate(body)
            for d in found[n.place].values()
            if d.before in number and d.loop == loop.loop
        ]
        plans = plan_loop(listing, loop, edges, machine, capacity)
        if not plans:
            record(NcPipelinePass.name, "loops not pipelined (too short or too large)")
            continue
        pipelined += 1
        plan, nest = _choose(listing, loop, plans, places)
        _report(loop, plan, pipelined, machine)
        if nest is None:
            emit_loop(listing, loop, plan)
        else:
            record(NcPipelinePass.name, "loops pipelined across iterations of the outer loop")
            emit_nest(listing, nest, plan)


def _may_overlap(loop: Operation) -> bool:
    """Return whether a loop is innermost, not ordered yet, and sure to have iterations."""
    if isinstance(loop, LoopOp) and count_load(loop) is not None:
        return False
    ordered = {PREFETCHED, ROLLED} & set(loop.attributes)
    return not ordered and not any(
        isinstance(op, LoopOp)
        for region in loop.regions
        for block in region.blocks
        for op in block.ops
    )


def _hoist(func: FuncOp) -> None:
    """Hoist addresses of variables and constants out of loops."""
    block = func.body.block
    for op in list(walk_in(block)):
        if isinstance(op, (AddressOfOp, arith.ConstantOp)) and op.parent is not block:
            op.detach()
            first = block.first_op
            if first is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, first)


def _choose(
    listing: Listing, loop: Node, plans: Sequence[Plan], places: int
) -> tuple[Plan, Nest | None]:
    """Return the plan with the shortest total time, including fills and drains.

    Also returns the nest, if the pipeline continues across iterations of the outer loop.
    """
    around = carried_around(listing, loop, places)
    best: tuple[Plan, Nest | None] = plans[0], None
    least = float("inf")
    for plan in plans:
        nest = find_nest(listing, around[0], loop, around[1], plan) if around else None
        fills = nest.fills if nest is not None else 1.0
        time = plan.interval * (loop.trip_count + fills * plan.last_stage)
        if time < least * _WORTH:
            best, least = (plan, nest), time
    return best


def _report(loop: Node, plan: Plan, number: int, machine: Machine) -> None:
    source = source_of(loop.body[0].op).name
    name = f"pipelined loop {number}" + (f" ({source})" if source else "")
    record(NcPipelinePass.name, "loops pipelined")
    loads = load([work_of(n.record, machine) for n in loop.body if n.record is not None])
    report_steady(NcPipelinePass.name, name, plan.interval, loads)
    record(NcPipelinePass.name, f"{name}: stages", plan.last_stage + 1)
    record(NcPipelinePass.name, f"{name}: copies", plan.depth)
