"""What a NeuronCore's engines can reach: checked once for each instruction of a program."""

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.opcodes import OPCODES

_REACH: dict[Engine, tuple[frozenset[Space], frozenset[Space]]] = {
    Engine.PE: (frozenset({Space.SBUF}), frozenset({Space.PSUM})),
    Engine.ACT: (frozenset({Space.SBUF, Space.PSUM}), frozenset({Space.SBUF, Space.PSUM})),
    Engine.DVE: (frozenset({Space.SBUF, Space.PSUM}), frozenset({Space.SBUF, Space.PSUM})),
    Engine.POOL: (frozenset({Space.SBUF}), frozenset({Space.SBUF})),
    Engine.SP: (frozenset({Space.SBUF, Space.HBM}), frozenset()),
}
_DMA_REACH = frozenset({Space.SBUF, Space.HBM})


def check_instruction(instruction: Instruction, machine: Machine) -> str | None:
    """What is against the rules of the machine, or None: engine, memories, partitions, banks."""
    spec = OPCODES.get(instruction.opcode)
    engine = instruction.engine
    if spec is None:
        return f"there is no instruction '{instruction.opcode}'"
    if engine not in spec.engines:
        allowed = ", ".join(e.name.lower() for e in spec.engines[:6])
        return f"{engine.name.lower()} cannot run {instruction.opcode}; {allowed} can"
    if len(instruction.dst) != len(spec.dst) or len(instruction.src) != len(spec.src):
        return f"{instruction.opcode} has the operands {', '.join(spec.dst + spec.src)}"
    if instruction.opcode == "register_load":
        return None
    readable, writable = _REACH.get(engine, (_DMA_REACH, _DMA_REACH))
    for aps, roles, spaces, verb in (
        (instruction.src, spec.src, readable, "read"),
        (instruction.dst, spec.dst, writable, "write"),
    ):
        for ap, role in zip(aps, roles, strict=True):
            if ap is None:
                continue
            if ap.space not in spaces:
                names = ", ".join(s.name for s in sorted(spaces))
                return (
                    f"{engine.name.lower()} cannot {verb} {ap.space.name} (operand "
                    f"'{role.rstrip('?')}'); it can {verb} {names}"
                )
            problem = _partitions(ap, engine, machine)
            if problem is not None:
                return f"operand '{role.rstrip('?')}' {problem}"
    return None


def _partitions(ap: AccessPattern, engine: Engine, machine: Machine) -> str | None:
    if ap.space == Space.HBM:
        return None
    if ap.start + ap.partitions > machine.partitions:
        last = ap.start + ap.partitions - 1
        return f"touches partitions {ap.start} to {last} of {machine.partitions}"
    if engine.is_dma:
        return None
    starts = machine.allowed_starts(ap.partitions)
    if ap.start not in starts:
        allowed = ", ".join(str(s) for s in starts)
        return f"has {ap.partitions} partitions from {ap.start}; they may start at {allowed}"
    return None


def crosses_bank(ap: AccessPattern, address: int, machine: Machine) -> bool:
    """Whether a PSUM access touches more than one bank."""
    shape = shape_of(ap)
    bank = machine.psum_bank_bytes
    return (address + shape.low) // bank != (address + shape.high - 1) // bank
