"""What a NeuronCore's engines can reach: checked once for each instruction of a program."""

from neuronir.dialects.nc.enums import DType, Engine, Space
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
_WIDE = frozenset({DType.F32, DType.F32R, DType.TF32})
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
            problem = _partitions(ap, engine, machine) or _elements(ap, engine, machine)
            if problem is not None:
                return f"operand '{role.rstrip('?')}' {problem}"
    return _limits(instruction, machine)


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


def _elements(ap: AccessPattern, engine: Engine, machine: Machine) -> str | None:
    if engine.is_dma or ap.space == Space.HBM:
        return None
    if len(ap.free) > machine.max_free_dims:
        return f"has {len(ap.free)} free dims; at most {machine.max_free_dims} are possible"
    limit = machine.max_free_psum if ap.space == Space.PSUM else machine.max_free_sbuf
    if ap.elements > limit:
        return f"has {ap.elements} elements a partition in {ap.space.name}; at most {limit}"
    return None


def _limits(instruction: Instruction, machine: Machine) -> str | None:
    """Limits of single instructions: matmul tiles and types, bn_stats."""
    source = instruction.src[0] if instruction.src else None
    if instruction.opcode == "bn_stats" and source is not None:
        if source.elements > machine.bn_stats_max:
            return f"bn_stats takes {machine.bn_stats_max} elements, not {source.elements}"
    if instruction.opcode != "matmul" or source is None:
        return None
    moving = instruction.src[1]
    if source.elements > machine.pe_columns:
        return f"the stationary operand has {source.elements} columns of {machine.pe_columns}"
    if moving is not None and moving.elements > machine.matmul_max_moving:
        return f"the moving operand has {moving.elements} columns of {machine.matmul_max_moving}"
    for ap in (source, moving):
        if ap is not None and ap.dtype.name not in machine.matmul_dtypes:
            known = ", ".join(sorted(name.lower() for name in machine.matmul_dtypes))
            return f"no matmul of {ap.dtype.name.lower()}; the tensor engine takes {known}"
    if moving is not None and (source.dtype in _WIDE) != (moving.dtype in _WIDE):
        return (
            f"a matmul of {source.dtype.name.lower()} with {moving.dtype.name.lower()}: fp32 and "
            "tf32 go only with fp32 and tf32"
        )
    return None


def crosses_bank(ap: AccessPattern, address: int, machine: Machine) -> bool:
    """Whether a PSUM access touches more than one bank."""
    shape = shape_of(ap)
    bank = machine.psum_bank_bytes
    return (address + shape.low) // bank != (address + shape.high - 1) // bank
