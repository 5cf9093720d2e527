"""Software pipelining: rounds of an innermost loop overlap, a new one every II ns.

The loop becomes a prologue, a kernel loop and an epilogue. Step q of the new code runs, of the
round q - s, the instructions of stage s. Buffers of the loop rotate: round i uses copy i mod depth,
and the kernel holds as many steps as the deepest rotation has copies, so that addresses stay fixed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import source_of
from neuronir.dialects.nc.structure import ROLLED, AddressOfOp, AllocOp, FuncOp, VariableOp
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.carried import Analysis
from neuronir.passes.nc.listing import Buffer, Listing, Node, list_function
from neuronir.passes.nc.liveness import deep_lifetimes, rounded
from neuronir.passes.nc.modulo import Edge, load, modulo_schedule
from neuronir.passes.nc.prefetch import PREFETCHED
from neuronir.passes.nc.provenance import make_kernel
from neuronir.passes.nc.rewrite import Linear, copy_with
from neuronir.passes.nc.schedule import Work, work_of
from neuronir.passes.nc.steady import report_steady
from neuronir.passes.statistics import record

PIPELINED = "nc.pipelined"
"""Marks a kernel loop: its order is the modulo schedule."""

_LONGEST_BODY = 500
_LARGEST_KERNEL = 2000
_TRIES = 24


_WORTH_WAITING = 1.4
"""How much longer an interval may be in which nothing waits for room than one in which it does."""


@dataclass(slots=True)
class Plan:
    """Of each instruction of the body: stage and offset (ns); copies of each buffer by key."""

    interval: float
    bound: float
    busiest: str
    stages: list[int]
    offsets: list[float]
    copies: dict[int, int]
    local: frozenset[int] = frozenset()  # buffers that live within one step: each has its own

    @property
    def depth(self) -> int:
        """Steps in the kernel."""
        return max(self.copies.values(), default=1)

    @property
    def last_stage(self) -> int:
        """The stage of the latest instruction."""
        return max(self.stages)


def pipeline_loops(
    func: FuncOp, kinds: Mapping[str, VariableOp], machine: Machine, capacity: int
) -> None:
    """Pipeline every innermost loop of a function where that pays."""
    _hoist(func)
    if not any(isinstance(op, scf.ForOp) and _may_overlap(op) for op in walk(func)):
        return
    listing = list_function(func, kinds, placed=False)
    places = sum(1 for op in walk(func) if isinstance(op, InstructionOp))
    analysis = Analysis(listing, places)
    pipelined = 0
    for loop in listing.loops:
        body = loop.body
        if not body or len(body) > _LONGEST_BODY or any(n.record is None for n in body):
            continue
        if not _may_overlap(loop.op):
            continue
        if any(n.op.results for n in body):
            record("nc-order", "loops not pipelined (registers)")
            continue
        found = analysis.run_loop(loop)
        number = {n.place: i for i, n in enumerate(body)}
        edges = [
            Edge(number[d.before], i, d.distance, d.data)
            for i, n in enumerate(body)
            for d in found[n.place].values()
            if d.before in number and d.loop == loop.loop
        ]
        plan = _plan(listing, loop, edges, machine, capacity)
        if plan is None:
            record("nc-order", "loops not pipelined (too short or too large)")
            continue
        pipelined += 1
        _report(loop, plan, pipelined)
        _emit(listing, loop, plan)


def _may_overlap(loop: Operation) -> bool:
    """Whether a loop is an innermost one that is not ordered already."""
    ordered = {PREFETCHED, ROLLED} & set(loop.attributes)
    return not ordered and not any(
        isinstance(op, scf.ForOp)
        for region in loop.regions
        for block in region.blocks
        for op in block.ops
    )


def _hoist(func: FuncOp) -> None:
    """Move addresses of variables and constants out of loops."""
    block = func.body.block
    for op in list(walk_in(block)):
        if isinstance(op, (AddressOfOp, arith.ConstantOp)) and op.parent is not block:
            op.detach()
            first = block.first_op
            if first is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, first)


def _room(listing: Listing, loop: Node, machine: Machine, capacity: int) -> tuple[int, int]:
    """(SBUF bytes, PSUM banks) that buffers of the loop may take beside those of others."""
    buffers = listing.buffers
    lives, _ = deep_lifetimes(listing.nodes, buffers)
    own = {b.key for b in buffers if b.loop == loop.loop}
    first, last = loop.body[0].place, loop.body[-1].place
    taken = [0, 0]
    for key, life in lives.items():
        buffer = buffers[key]
        if key in own or life.last < first or life.first > last:
            continue
        if buffer.space == Space.SBUF:
            taken[0] += rounded(buffer.size)
        elif buffer.space == Space.PSUM:
            taken[1] += -(-buffer.size // machine.psum_bank_bytes)
    return capacity - taken[0], machine.psum_banks - taken[1]


def _plan(
    listing: Listing, loop: Node, edges: Sequence[Edge], machine: Machine, capacity: int
) -> Plan | None:
    """The shortest interval for which a schedule and its buffers are found."""
    works = [work_of(n.record, machine) for n in loop.body if n.record is not None]
    loads = load(works)
    busiest = max(loads, key=lambda name: (loads[name], name))
    bound = loads[busiest]
    room = _room(listing, loop, machine, capacity)
    interval = bound
    waiting: Plan | None = None
    for _ in range(_TRIES):
        if waiting is not None and interval > _WORTH_WAITING * waiting.interval:
            break
        start = modulo_schedule(works, edges, interval, machine)
        if start is not None:
            stages = [int(s // interval) for s in start]
            offsets = [s - k * interval for s, k in zip(start, stages, strict=True)]
            # One copy more than the schedule needs lets engines drift apart; then what it needs
            # so that nothing waits; then what it needs to be right.
            for extra, whole in ((1, True), (0, True), (0, False)):
                if waiting is not None and not whole:
                    continue
                found = _copies(listing, loop, works, start, interval, machine, room, extra, whole)
                if found is None:
                    continue
                copies, local = found
                plan = Plan(interval, bound, busiest, stages, offsets, copies, local)
                if (loop.trip_count - plan.last_stage) // plan.depth >= 2:
                    if whole:
                        return plan
                    waiting = plan
        interval *= 1.12
    return waiting


def _copies(
    listing: Listing,
    loop: Node,
    works: Sequence[Work],
    start: Sequence[float],
    interval: float,
    machine: Machine,
    room: tuple[int, int],
    extra: int,
    whole: bool,
) -> tuple[dict[int, int], frozenset[int]] | None:
    """How many copies each buffer of the loop needs, and which ones live within one step of the
    kernel, so that others can have their room; None where they do not fit.

    The first write of a round must come after the last use of the round that had the copy before;
    with `whole` that use counts until it has ended, so that nothing waits. `extra` are added.
    """
    buffers = listing.buffers
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for i, node in enumerate(loop.body):
        end = start[i] + (works[i].latency + machine.semaphore_latency_ns if whole else 0.0)
        for access in node.accesses:
            key = access.buffer
            if buffers[key].loop == loop.loop:
                first[key] = min(first.get(key, start[i]), start[i])
                last[key] = max(last.get(key, end), end)
    needed = {key: int((last[key] - first[key]) // interval) + 1 for key in first}
    local = frozenset(
        key
        for key, n in needed.items()
        if n == 1
        and first[key] // interval == last[key] // interval
        and isinstance(buffers[key].op, AllocOp)
    )
    copies = {key: n + extra for key, n in needed.items() if key not in local}
    depth = max(copies.values(), default=1)
    if depth * len(loop.body) > _LARGEST_KERNEL:
        return None
    for key, n in copies.items():
        copies[key] = next(d for d in range(n, depth + 1) if depth % d == 0)
    taken = {Space.SBUF: 0, Space.PSUM: 0}
    for key, n in copies.items():
        if buffers[key].space in taken:
            taken[buffers[key].space] += _size(buffers[key], machine) * n
    for space in taken:
        lives = [
            (first[k] % interval, last[k] % interval, k) for k in local if buffers[k].space == space
        ]
        taken[space] += _most_at_once(lives, buffers, machine)
    fits = taken[Space.SBUF] <= room[0] and taken[Space.PSUM] <= room[1]
    return (copies, local) if fits else None


def _size(buffer: Buffer, machine: Machine) -> int:
    """Bytes of SBUF, or banks of PSUM."""
    if buffer.space == Space.PSUM:
        return -(-buffer.size // machine.psum_bank_bytes)
    return rounded(buffer.size)


def _most_at_once(
    lives: Sequence[tuple[float, float, int]], buffers: Sequence[Buffer], machine: Machine
) -> int:
    """The most that buffers which live from one time of a step to another take together."""
    changes: list[tuple[float, int, int]] = []
    for begin, end, key in lives:
        size = _size(buffers[key], machine)
        changes += [(begin, 0, size), (end, 1, -size)]
    best = now = 0
    for _, _, change in sorted(changes):
        now += change
        best = max(best, now)
    return best


def _report(loop: Node, plan: Plan, number: int) -> None:
    source = source_of(loop.body[0].op).name
    name = f"pipelined loop {number}" + (f" ({source})" if source else "")
    record("nc-order", "loops pipelined")
    report_steady(name, plan.interval, {plan.busiest: plan.bound})
    record("nc-order", f"{name}: stages", plan.last_stage + 1)
    record("nc-order", f"{name}: copies", plan.depth)


class _Emitter:
    def __init__(self, listing: Listing, loop: Node, plan: Plan, op: scf.ForOp) -> None:
        self.body = [n.op for n in loop.body if isinstance(n.op, InstructionOp)]
        self.plan = plan
        self.variable = op.body.block.args[0]
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

    def step(self, q: int, trips: int, loop: SSAValue | None = None) -> list[Operation]:
        """Step `q`, or step `q + depth * loop`: what each stage does of its round."""
        out: list[Operation] = []
        own: dict[SSAValue, SSAValue] = {}
        for buffer in self.local:
            assert isinstance(buffer.op, AllocOp)
            alloc = buffer.op.clone()
            own[buffer.value] = alloc.buffer
            out.append(alloc)
        for i in self.sequence:
            number = q - self.plan.stages[i]
            if loop is None and not 0 <= number < trips:
                continue
            index = Linear(loop, self.plan.depth if loop is not None else 0, number)
            buffers = {b: made[number % len(made)] for b, made in self.copies.items()} | own
            out.append(copy_with(self.body[i], buffers, {self.variable: index}))
        return out


def _emit(listing: Listing, loop: Node, plan: Plan) -> None:
    """Replace a loop by prologue, kernel and epilogue."""
    op = loop.op
    block = op.parent
    if not isinstance(op, scf.ForOp) or block is None:
        return
    emitter = _Emitter(listing, loop, plan, op)
    trips, depth, begin = loop.trip_count, plan.depth, plan.last_stage
    rounds = (trips - begin) // depth
    block.insert_ops_before(emitter.allocations, op)
    for q in range(begin):
        block.insert_ops_before(emitter.step(q, trips), op)
    kernel = Block(arg_types=[IndexType()])
    for q in range(begin, begin + depth):
        kernel.add_ops(emitter.step(q, trips, kernel.args[0]))
    kernel.add_op(scf.YieldOp())
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, rounds, 1)]
    block.insert_ops_before(bounds, op)
    low, high, step = (b.result for b in bounds)
    made = scf.ForOp(low, high, step, [], Region(kernel))
    made.attributes[PIPELINED] = UnitAttr()
    make_kernel(op, made, depth)
    made.location = op.location
    block.insert_op_before(made, op)
    for q in range(begin + rounds * depth, trips + begin):
        block.insert_ops_before(emitter.step(q, trips), op)
    op.detach()
    op.erase()
