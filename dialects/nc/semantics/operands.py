"""Check the operands of an instruction before a kernel runs."""

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.semantics.kernel import SemanticError


def present(ap: AccessPattern | None, role: str) -> AccessPattern:
    """Return the access pattern of a required operand."""
    if ap is None:
        raise SemanticError(f"operand '{role}' is absent")
    return ap


def alu(instruction: Instruction, name: str, default: AluOp | None = None) -> AluOp:
    """Return the operator that a parameter names."""
    if name not in instruction.params:
        if default is None:
            raise SemanticError(f"parameter '{name}' is absent")
        return default
    return AluOp(int(instruction.params[name]))


def number(instruction: Instruction, name: str, default: float = 0.0) -> float:
    """Return an immediate."""
    return float(instruction.params.get(name, default))


def flag(instruction: Instruction, name: str) -> bool:
    """Return a flag; False if absent."""
    return bool(instruction.params.get(name, 0))


def dtypes(*aps: AccessPattern | None) -> list[DType]:
    """Return the data types of the operands that are present."""
    return [ap.dtype for ap in aps if ap is not None]


def equal_extent(a: AccessPattern, b: AccessPattern, role: str) -> None:
    """Raise if two operands differ in partitions or elements."""
    if a.partitions != b.partitions or a.elements != b.elements:
        raise SemanticError(
            f"operand '{role}' is {b.partitions} x {b.elements}, expected "
            f"{a.partitions} x {a.elements} (partitions x elements)"
        )
