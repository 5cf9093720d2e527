"""nc-balance-evictions: give work that ACT and DVE can both do to the engine that ends first."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.dialects.nc.cost import Cost, cost
from neuronir.dialects.nc.dialect import INSTRUCTION_OPS
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp, build
from neuronir.dialects.nc.records import shape_record
from neuronir.dialects.nc.structure import ROLLED, AllocOp, CallOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.passes.nc.balance_forms import OtherForm, other_form
from neuronir.passes.nc.balance_load import BOTH, EngineLoad
from neuronir.passes.nc.data_flow import DataFlow, engine_of, operands_of
from neuronir.passes.nc.listing import functions, machine_of, require_phase, trip_count
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcBalanceEvictionsPass(ModulePass):
    """Distribute work that ACT and DVE can both execute over the two engines.

    Evictions of PSUM, other instructions that both engines execute with bit-identical results
    (copies, scaling, addition of a scalar, relu) and sums of rows are assigned in program order to
    the engine that completes them first. The completion time includes the work assigned so far and
    the availability of the operands, which takes longer from another engine. Program order says
    little about distant instructions, so neither engine is assumed to be more than `window` ns
    behind the other. A loop counts with all its iterations. In an innermost loop, whose iterations
    overlap, both engines get equal shares of an iteration.
    """

    name = "nc-balance-evictions"
    window: int = field(
        default=2000, metadata={"help": "largest distance of the two engines in ns; 0: unlimited"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign an engine to each instruction that both can execute, in every function."""
        require_phase(op, self.name, "virtual")
        walk = _Walk(op, machine_of(op), self.window or float("inf"))
        for func in functions(op):
            walk.function(func.sym_name.data)
        total = walk.total()
        record(self.name, "instructions moved", total.moved)
        record(self.name, "ns of the busier of ACT and DVE", round(total.busier()))
        for engine in BOTH:
            on = f"on {engine.name}"
            record(self.name, f"instructions that both can do, {on}", total.count[engine])
            record(
                self.name, f"ns of the busier with all of them {on}", round(total.busier(engine))
            )


@dataclass(frozen=True, slots=True)
class _Either:
    """An instruction that both engines can execute: its engine, the other form, and both costs."""

    op: InstructionOp
    engine: Engine
    form: OtherForm
    costs: dict[Engine, Cost]


class _Walk:
    """Visits each function once, in program order."""

    def __init__(self, module: ModuleOp, machine: Machine, window: float) -> None:
        self.machine = machine
        self.window = window
        self.functions = {f.sym_name.data: f for f in functions(module)}
        self.loads: dict[str, EngineLoad] = {}
        self.called: set[str] = set()

    def function(self, name: str) -> EngineLoad:
        """Return the work of a function; the first visit assigns the engines."""
        if name not in self.loads:
            self.loads[name] = EngineLoad(self.window)  # another pass rejects recursion
            self.loads[name] = self._straight(self.functions[name].body.block)
        return self.loads[name]

    def total(self) -> EngineLoad:
        """Return the work of the functions without callers, including all callees."""
        total = EngineLoad(self.window)
        for name, load in self.loads.items():
            if name not in self.called:
                total.add(load, 1)
        return total

    def _straight(self, block: Block) -> EngineLoad:
        """Return the work of code in program order; other engines only contribute data flow."""
        load, flow = EngineLoad(self.window), DataFlow(self.machine)
        for op in list(block.ops):
            if isinstance(op, LoopOp):
                inside = body_of(op)
                inner = self._round(inside) if _overlaps(op) else self._straight(inside)
                load.add(inner, trip_count(op))
            elif isinstance(op, CallOp) and op.callee.root_reference.data in self.functions:
                name = op.callee.root_reference.data
                self.called.add(name)
                load.add(self.function(name), 1)
            elif isinstance(op, InstructionOp):
                engine = engine_of(op)
                if engine not in BOTH:
                    flow.pass_on(op, engine)
                    continue
                written, read = operands_of(op)
                ready = {e: flow.ready(read, e) for e in BOTH}
                found = self._read(op)
                if isinstance(found, _Either):
                    engine = _give(found, load, ready)
                    spent = found.costs[engine]
                else:
                    load.do(engine, found.issue_ns)
                    spent = found
                flow.write(written, ready[engine] + spent.latency_ns, engine)
        return load

    def _round(self, block: Block) -> EngineLoad:
        """Return the work of an iteration of an innermost loop; fixed work is counted first."""
        load = EngineLoad(float("inf"))
        either: list[_Either] = []
        for op in list(block.ops):
            if isinstance(op, InstructionOp) and (engine := engine_of(op)) in BOTH:
                found = self._read(op)
                if isinstance(found, _Either):
                    either.append(found)
                else:
                    load.do(engine, found.issue_ns)
        for found in either:
            _give(found, load, dict.fromkeys(BOTH, 0.0))
        return load

    def _read(self, op: InstructionOp) -> _Either | Cost:
        """Return the cost of an ACT or DVE instruction, on both engines if both can execute it."""
        done = shape_record(op)
        form, spent = other_form(done, unread=_unread(op)), cost(done, self.machine)
        if form is None:
            return spent
        made = form.record(done)
        if any(violations(made, self.machine)):
            return spent
        return _Either(
            op, done.engine, form, {done.engine: spent, form.engine: cost(made, self.machine)}
        )


def _give(found: _Either, load: EngineLoad, ready: dict[Engine, float]) -> Engine:
    """Assign an instruction to the engine that ends it first, and return the engine.

    `ready` is the time at which its operands are available to each engine.
    """
    times = {e: found.costs[e].issue_ns for e in BOTH}
    ends = {e: max(load.clock[e], ready[e]) + times[e] for e in BOTH}
    engine = min(BOTH, key=lambda e: (ends[e], e is not found.engine))
    if engine is not found.engine:
        _replace(found.op, found.form)
    load.choose(engine, times, engine is not found.engine)
    return engine


def _overlaps(loop: LoopOp) -> bool:
    """Return whether nc-pipeline overlaps the iterations of a loop.

    This holds for innermost loops that are not ordered yet and are no layers.
    """
    return ROLLED not in loop.attributes and not any(
        isinstance(op, LoopOp | CallOp) for op in body_of(loop).ops
    )


def _unread(op: InstructionOp) -> bool:
    """Return whether an instruction has a buffer for its first result that nothing else uses."""
    view = op.views()[0] if op.spec.dst else None
    return view is not None and view.buffer.has_one_use()


def _replace(op: InstructionOp, form: OtherForm) -> None:
    """Replace `op` by its form for the other engine."""
    views, block = op.views(), op.parent
    assert block is not None
    src = views[len(op.spec.dst) :]
    out = views[form.result]
    dst = [out, None] if form.opcode == "activation" else [out]
    operands = [None if role is None else src[role] for role in form.roles]
    kind = INSTRUCTION_OPS[form.opcode]
    new = build(kind, dst, operands, form.params, engine=form.engine, location=op.location)
    new.attributes.update(op.attributes)
    block.insert_op_before(new, op)
    unread = views[0] if form.result else None
    op.detach()
    op.erase()
    if unread is not None and isinstance(unread.buffer.owner, AllocOp):
        unread.buffer.owner.detach()
        unread.buffer.owner.erase()
