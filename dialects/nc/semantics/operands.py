"""What kernels ask of an instruction's operands before it runs."""

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.semantics.kernel import SemanticError


def present(ap: AccessPattern | None, role: str) -> AccessPattern:
    """The access pattern of an operand that must be there."""
    if ap is None:
        raise SemanticError(f"operand '{role}' is absent")
    return ap


def alu(instruction: Instruction, name: str, default: AluOp | None = None) -> AluOp:
    """The operator that a parameter names."""
    if name not in instruction.params:
        if default is None:
            raise SemanticError(f"parameter '{name}' is absent")
        return default
    return AluOp(int(instruction.params[name]))


def number(instruction: Instruction, name: str, default: float = 0.0) -> float:
    """An immediate."""
    return float(instruction.params.get(name, default))


def flag(instruction: Instruction, name: str) -> bool:
    """A switch, off where absent."""
    return bool(instruction.params.get(name, 0))


def dtypes(*aps: AccessPattern | None) -> list[DType]:
    """The data types of the operands that are there."""
    return [ap.dtype for ap in aps if ap is not None]


def equal_extent(a: AccessPattern, b: AccessPattern, role: str) -> None:
    """Raise where two operands do not cover as many partitions and elements."""
    if a.partitions != b.partitions or a.elements != b.elements:
        raise SemanticError(
            f"operand '{role}' is {b.partitions} x {b.elements}, expected "
            f"{a.partitions} x {a.elements} (partitions x elements)"
        )
