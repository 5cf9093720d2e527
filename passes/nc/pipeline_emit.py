"""Emit the code of a pipelined loop: prologue, kernel loop and epilogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.names import index_constant
from neuronir.passes.nc.listing import Listing, Node
from neuronir.passes.nc.pipeline_nest import Nest
from neuronir.passes.nc.pipeline_plan import Plan
from neuronir.passes.nc.provenance import make_kernel
from neuronir.passes.nc.rewrite import Linear, copy_with

PIPELINED = "nc.pipelined"
"""Marks a kernel loop: its order is the modulo schedule."""


@dataclass(frozen=True, slots=True)
class _Round:
    """An iteration of the outer loop.

    It has the number of iterations of the pipelined loop that started before it, and the
    replacements of its loop variable and of its buffers.
    """

    base: int = 0
    indices: Mapping[SSAValue, Linear] = field(default_factory=dict)
    buffers: Mapping[SSAValue, SSAValue] = field(default_factory=dict)


class _Emitter:
    """The steps of one loop; iterations are numbered across the iterations of the outer loop."""

    def __init__(self, listing: Listing, loop: Node, plan: Plan) -> None:
        assert isinstance(loop.op, scf.ForOp)
        self.op = loop.op
        self.body = [n.op for n in loop.body if isinstance(n.op, InstructionOp)]
        self.plan = plan
        self.trips = loop.trip_count
        self.kernels = (self.trips - plan.last_stage) // plan.depth
        self.variable: BlockArgument = self.op.body.block.args[0]
        self.sequence = sorted(
            range(len(self.body)), key=lambda i: (plan.offsets[i], -plan.stages[i], i)
        )
        self.copies: dict[SSAValue, list[SSAValue]] = {}
        self.allocations: list[Operation] = []
        for key, n in plan.copies.items():
            buffer = listing.buffers[key]
            if isinstance(buffer.op, AllocOp):
                made = [buffer.op.clone() for _ in range(n)]
                self.allocations += made
                self.copies[buffer.value] = [m.buffer for m in made]
        self.local = [listing.buffers[key] for key in sorted(plan.local)]

    def step(
        self, q: int, now: _Round, before: _Round | None = None, loop: SSAValue | None = None
    ) -> list[Operation]:
        """Emit step `q`, or step `q + depth * loop`: every stage of its iteration.

        Iterations that start before the first one are the last iterations of `before`, if it is
        given.
        """
        out: list[Operation] = []
        own: dict[SSAValue, SSAValue] = {}
        for buffer in self.local:
            assert isinstance(buffer.op, AllocOp)
            alloc = buffer.op.clone()
            own[buffer.value] = alloc.buffer
            out.append(alloc)
        for i in self.sequence:
            number, around = q - self.plan.stages[i], now
            if number < 0 and loop is None and before is not None:
                around = before
                number += self.trips
            if loop is None and not 0 <= number < self.trips:
                continue
            index = Linear(loop, self.plan.depth if loop is not None else 0, number)
            copy = around.base + number
            buffers = {b: made[copy % len(made)] for b, made in self.copies.items()} | own
            buffers.update(around.buffers)
            indices = {self.variable: index, **around.indices}
            out.append(copy_with(self.body[i], buffers, indices))
        return out

    def kernel(self, now: _Round) -> list[Operation]:
        """Emit the loop in which all stages run."""
        begin, depth = self.plan.last_stage, self.plan.depth
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = self.variable.name_hint
        for q in range(begin, begin + depth):
            body.add_ops(self.step(q, now, loop=body.args[0]))
        made, bounds = _make_loop(body, self.kernels)
        made.attributes[PIPELINED] = UnitAttr()
        make_kernel(self.op, made, depth)
        made.location = self.op.location
        return [*bounds, made]

    def steady(self, now: _Round) -> list[Operation]:
        """Emit all remaining steps, after the prologue, that start an iteration."""
        out = self.kernel(now)
        for q in range(self.plan.last_stage + self.kernels * self.plan.depth, self.trips):
            out += self.step(q, now)
        return out

    def seam(self, before: _Round | None, now: _Round) -> list[Operation]:
        """Emit the prologue, merged with the epilogue of `before`."""
        return [op for q in range(self.plan.last_stage) for op in self.step(q, now, before)]

    def epilogue(self, now: _Round) -> list[Operation]:
        """Emit the steps that start no iteration."""
        last = self.trips + self.plan.last_stage
        return [op for q in range(self.trips, last) for op in self.step(q, now)]


def _make_loop(body: Block, trips: int) -> tuple[scf.ForOp, list[Operation]]:
    """Create a loop with this trip count, and the constants of its bounds."""
    body.add_op(scf.YieldOp())
    bounds = [index_constant(n) for n in (0, trips, 1)]
    low, high, step = (b.result for b in bounds)
    return scf.ForOp(low, high, step, [], Region(body)), [*bounds]


def emit_loop(listing: Listing, loop: Node, plan: Plan) -> None:
    """Replace a loop by prologue, kernel and epilogue."""
    emitter = _Emitter(listing, loop, plan)
    now = _Round()
    ops = [*emitter.allocations, *emitter.seam(None, now), *emitter.steady(now)]
    _replace(loop.op, [*ops, *emitter.epilogue(now)])


def emit_nest(listing: Listing, nest: Nest, plan: Plan) -> None:
    """Replace the outer loop by a loop over groups of its iterations with a filled pipeline.

    If the trip count is not divisible, a last smaller group follows.
    """
    outer = nest.outer.op
    assert isinstance(outer, scf.ForOp)
    variable = outer.body.block.args[0]
    groups, rest = divmod(nest.outer.trip_count, nest.rounds)
    ops: list[Operation] = []
    if groups > 1:
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = variable.name_hint
        indices = [Linear(body.args[0], nest.rounds, n) for n in range(nest.rounds)]
        body.add_ops(_group(listing, nest, plan, [{variable: i} for i in indices]))
        made, bounds = _make_loop(body, groups)
        make_kernel(outer, made, nest.rounds)
        made.location = outer.location
        ops += [*bounds, made]
    else:
        rest += groups * nest.rounds
    if rest:
        first = nest.outer.trip_count - rest
        numbers = range(first, nest.outer.trip_count)
        ops += _group(listing, nest, plan, [{variable: Linear(None, 0, n)} for n in numbers])
    _replace(outer, ops)


def _group(
    listing: Listing, nest: Nest, plan: Plan, indices: Sequence[Mapping[SSAValue, Linear]]
) -> list[Operation]:
    """Emit successive iterations of the outer loop."""
    emitter = _Emitter(listing, nest.loop, plan)
    out: list[Operation] = [*emitter.allocations]
    turns: list[dict[SSAValue, SSAValue]] = [{}, {}]
    for key in nest.buffers:
        alloc = listing.buffers[key].op
        assert isinstance(alloc, AllocOp)
        made = [alloc.clone() for _ in range(2 if key in nest.lasting else 1)]
        out += made
        for n, turn in enumerate(turns):
            turn[alloc.buffer] = made[n % len(made)].buffer
    rounds = [_Round(n * emitter.trips, index, turns[n % 2]) for n, index in enumerate(indices)]
    before: _Round | None = None
    out += _straight(nest.loads, rounds[0])
    for n, now in enumerate(rounds):
        out += [*_straight(nest.before, now), *emitter.seam(before, now)]
        if before is not None:
            out += _straight(nest.after, before)
        if n + 1 < len(rounds):
            out += _straight(nest.loads, rounds[n + 1])
        out += emitter.steady(now)
        before = now
    assert before is not None
    return [*out, *emitter.epilogue(before), *_straight(nest.after, before)]


def _straight(nodes: Sequence[Node], now: _Round) -> list[Operation]:
    """Emit the ops of an outer iteration other than the pipelined loop."""
    ops = [n.op for n in nodes if isinstance(n.op, InstructionOp)]
    return [copy_with(op, now.buffers, now.indices) for op in ops]


def _replace(op: Operation, by: Sequence[Operation]) -> None:
    block = op.parent
    assert block is not None
    block.insert_ops_before(by, op)
    op.detach()
    op.erase()
