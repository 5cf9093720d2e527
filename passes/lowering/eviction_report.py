"""What balancing evictions over ACT and DVE gains, for `--pass-statistics`."""

from xdsl.dialects import scf
from xdsl.ir import Block

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Activation, AluOp, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.passes.lowering.emitter import record_of
from neuronir.passes.nc.listing import trip_count
from neuronir.passes.statistics import record

_SCALING = {
    (AluOp.MULTIPLY, AluOp.BYPASS),
    (AluOp.ADD, AluOp.BYPASS),
    (AluOp.MULTIPLY, AluOp.ADD),
    (AluOp.ADD, AluOp.MAX),
}
"""What DVE does with two numbers, and ACT as func(src * scale + bias)."""
_BOTH = (Engine.ACT, Engine.DVE)


def report_evictions(block: Block, machine: Machine) -> None:
    """Count what ACT and DVE do in all rounds of a block, and what the busier of them would do with
    all evictions on ACT, or on DVE, that both can do."""
    found = _Evictions(machine)
    found.visit(block, 1)
    name = "lower-hlo-to-nc"
    for engine in _BOTH:
        text = f"eviction balance: evictions on {engine.name}"
        record(name, text, found.count[engine])
    record(name, "eviction balance: ns of the busier of ACT and DVE", found.busier(None))
    for engine in _BOTH:
        record(name, f"eviction balance: the same with all on {engine.name}", found.busier(engine))


class _Evictions:
    """Nanoseconds of ACT and DVE, and those of evictions that both can do, by who does them and by
    who would."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.total = dict.fromkeys(_BOTH, 0.0)
        self.count = dict.fromkeys(_BOTH, 0)
        self.movable = {(a, b): 0.0 for a in _BOTH for b in _BOTH}

    def visit(self, block: Block, rounds: int) -> None:
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                self.visit(op.body.block, rounds * trip_count(op))
            elif isinstance(op, InstructionOp):
                self._note(record_of(op), rounds)

    def busier(self, chosen: Engine | None) -> int:
        """Nanoseconds of the busier one, with the evictions where they are or all on one."""
        total = dict(self.total)
        if chosen is not None:
            other = _other(chosen)
            total[other] -= self.movable[other, other]
            total[chosen] += self.movable[other, chosen]
        return round(max(total.values()))

    def _note(self, done: Instruction, rounds: int) -> None:
        if done.engine not in _BOTH:
            return
        time = cost(done, self.machine).issue_ns * rounds
        self.total[done.engine] += time
        dst, src = done.dst[0], done.src[0] if done.src else None
        if src is None or dst is None or src.space != Space.PSUM or not _either_can(done):
            return
        other = _other(done.engine)
        self.count[done.engine] += rounds
        self.movable[done.engine, done.engine] += time
        self.movable[done.engine, other] += self._copied(dst, src, other) * rounds

    def _copied(self, dst: AccessPattern, src: AccessPattern, engine: Engine) -> float:
        """What the other engine takes for the same elements."""
        opcode = "activation" if engine is Engine.ACT else "tensor_copy"
        params = {"func": int(Activation.COPY)} if engine is Engine.ACT else {}
        return cost(Instruction(opcode, engine, (dst,), (src,), {**params}), self.machine).issue_ns


def _other(engine: Engine) -> Engine:
    return Engine.DVE if engine == Engine.ACT else Engine.ACT


def _either_can(done: Instruction) -> bool:
    """Whether an instruction that reads PSUM is one that ACT and DVE both can do."""
    floats = all(p is None or p.dtype.is_float for p in (*done.dst, *done.src))
    if not floats or len([d for d in done.dst if d is not None]) != 1:
        return False
    if done.opcode == "activation":
        return done.params.get("func") in (int(Activation.COPY), int(Activation.RELU))
    if done.opcode == "tensor_scalar":
        first, second = (AluOp(int(done.params.get(k, AluOp.BYPASS))) for k in ("op0", "op1"))
        return (first, second) in _SCALING
    return done.opcode == "tensor_copy"
