"""Return PE and eviction times of dots by the simulator's cost model."""

from collections.abc import Mapping

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction
from neuronir.dialects.nc.machine import Machine


def pattern(space: Space, dtype: DType, partitions: int, elements: int) -> AccessPattern:
    """Return a tile of contiguous elements on each partition."""
    return AccessPattern(space, dtype, Affine(), 0, partitions, ((1, elements),))


def issue_ns(
    machine: Machine,
    opcode: str,
    engine: Engine,
    dst: AccessPattern,
    src: list[AccessPattern],
    params: Mapping[str, int | float],
) -> float:
    """Return the ns that an instruction occupies its engine."""
    return cost(Instruction(opcode, engine, (dst,), tuple(src), {**params}), machine).issue_ns


def matmul_ns(
    machine: Machine, dtype: DType, depth: int, rows: int, columns: int, reuse: bool
) -> float:
    """Return the time of a matmul of a stationary [depth, rows] and a moving [depth, columns]
    operand.

    With `reuse`, the stationary operand is already loaded. If the array has fewer columns than
    `rows`, the matmul is in parts.
    """
    total, wide = 0.0, machine.pe_columns
    for low in range(0, rows, wide):
        part = min(wide, rows - low)
        dst = pattern(Space.PSUM, DType.F32, part, columns)
        sides = [pattern(Space.SBUF, dtype, depth, n) for n in (part, columns)]
        params = {"accumulate": 1, "reuse": int(reuse and rows <= wide)}
        total += issue_ns(machine, "matmul", Engine.PE, dst, sides, params)
    return total


def transpose_ns(machine: Machine, dtype: DType, rows: int, columns: int) -> float:
    """Return the time of a PE transpose of [rows, columns]."""
    dst, src = pattern(Space.PSUM, dtype, columns, rows), pattern(Space.SBUF, dtype, rows, columns)
    return issue_ns(machine, "transpose", Engine.PE, dst, [src], {})


def block_transpose_ns(machine: Machine, dtype: DType, side: int) -> float:
    """Return the time of a DVE transpose of [side, side]."""
    block = pattern(Space.SBUF, dtype, side, side)
    return issue_ns(machine, "transpose_dve", Engine.DVE, block, [block], {})


def eviction_ns(machine: Machine, dtype: DType, partitions: int, elements: int) -> float:
    """Return the time of an ACT copy of [partitions, elements] from PSUM."""
    dst, src = (pattern(s, dtype, partitions, elements) for s in (Space.SBUF, Space.PSUM))
    params = {"func": int(Activation.COPY)}
    return issue_ns(machine, "activation", Engine.ACT, dst, [src], params)


def sum_ns(machine: Machine, rows: int, columns: int) -> float:
    """Return the time of adding [rows, columns] in fp32 from PSUM to sums in SBUF, by DVE."""
    psum, total = (pattern(s, DType.F32, rows, columns) for s in (Space.PSUM, Space.SBUF))
    params = {"op": int(AluOp.ADD)}
    return issue_ns(machine, "tensor_tensor", Engine.DVE, total, [psum, total], params)
