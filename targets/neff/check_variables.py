"""Check that the variables of a decoded program are disjoint and complete."""

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Program, Variable
from neuronir.dialects.nc.instruction_rules import overlaps_itself
from neuronir.targets.neff.header import invalid


def check_variables(program: Program, path: str | None) -> None:
    """Raise NIR_NEFF008 for invalid variables.

    Variables must not share bytes, arrays must not have several elements at one address, inputs
    must have distinct numbers (bound ones leave gaps), and outputs must be numbered from 0.
    """
    placed = sorted((v for v in program.variables if v.size), key=lambda v: (v.address, v.name))
    for first, second in zip(placed, placed[1:], strict=False):
        if second.address < first.address + first.size:
            raise invalid(8, f"variables '{first.name}' and '{second.name}' share bytes", path)
    for kind in ("input", "output"):
        arrays = [v for v in program.variables if v.kind == kind]
        numbers = {v.index for v in arrays}
        gaps = kind == "output" and numbers != set(range(len(arrays)))
        if len(numbers) < len(arrays) or min(numbers, default=0) < 0 or gaps:
            raise invalid(8, f"the indices of the {kind}s are wrong: {sorted(numbers)}", path)
        for variable in arrays:
            if _elements_meet(variable):
                raise invalid(8, f"{kind} '{variable.name}' has overlapping elements", path)


def _elements_meet(variable: Variable) -> bool:
    """Return whether two elements of a strided array share a byte."""
    size = variable.dtype.size
    if 0 in variable.shape:
        return False
    dims = [(s, n) for s, n in zip(variable.strides, variable.shape, strict=False) if n > 1]
    if any(stride % size for stride, _ in dims):
        return True  # not aligned to its elements
    free = tuple((stride // size, n) for stride, n in dims)
    return overlaps_itself(AccessPattern(Space.HBM, variable.dtype, Affine(), 0, 1, free))
