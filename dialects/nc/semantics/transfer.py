"""Compute DMA transfers: copies with conversion or accumulation, row gathers and scatters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import AluOp, DType, Space
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.semantics.convert import converted, copier, to_f32
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Tile, Tiles, Warn, need
from neuronir.dialects.nc.semantics.operands import alu, present

Combine = Callable[[Tile, Tile], None]

_ACCUMULATORS: dict[AluOp, np.ufunc] = {
    AluOp.ADD: np.add,
    AluOp.MIN: np.minimum,
    AluOp.MAX: np.maximum,
}


def _combiner(op: AluOp, src: DType, dst: DType) -> Combine:
    """Return how `dst` is updated with `src`: a copy, or an accumulation in fp32."""
    if op == AluOp.BYPASS:
        return copier(src, dst)
    if op not in _ACCUMULATORS:
        raise SemanticError(f"a dma cannot accumulate by {op.name.lower()}")
    function = _ACCUMULATORS[op]

    def accumulate(out: Tile, values: Tile) -> None:
        sums = function(to_f32(out, dst), to_f32(values, src).reshape(out.shape))
        out[...] = converted(sums, dst)

    return accumulate


def dma(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Copy elements of src in order to elements of dst in order, whatever their shapes."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    if dst.elements * dst.partitions != src_ap.elements * src_ap.partitions:
        raise SemanticError(
            f"dst has {dst.elements * dst.partitions} elements, "
            f"src {src_ap.elements * src_ap.partitions}"
        )
    combine = _combiner(alu(instruction, "accumulate", AluOp.BYPASS), src_ap.dtype, dst.dtype)

    def run(out: Tiles, src: Tiles) -> None:
        combine(need(out[0], "dst"), need(src[0], "src"))

    return run


def row_numbers(indices: Tile) -> NDArray[np.int64]:
    """Return the indices of a gather or scatter, one for each partition."""
    return indices.reshape(-1).astype(np.int64)


def dma_gather(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Gather rows: `src[0]` is the table [rows, *free]; row p of dst is row indices[p] of it."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    _indices(instruction, dst.partitions)
    if dst.elements != src_ap.elements * src_ap.partitions:
        raise SemanticError(f"a row has {src_ap.elements} elements, dst {dst.elements}")
    copy = copier(src_ap.dtype, dst.dtype)
    limit = int(instruction.params["rows"])

    def run(out: Tiles, src: Tiles) -> None:
        numbers = row_numbers(need(src[1], "indices"))
        outside = (numbers < 0) | (numbers >= limit)
        if outside.any():
            p = int(outside.argmax())
            raise SemanticError(
                f"index {int(numbers[p])} (partition {p}) is outside rows 0..{limit - 1}"
            )
        copy(need(out[0], "dst"), need(src[0], "src")[numbers])

    return run


def dma_scatter(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Scatter rows:

    `dst[0]` is the table [rows, *free]; row indices[p] gets row p of src, p ascending.
    """
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    _indices(instruction, src_ap.partitions)
    if src_ap.elements != dst.elements * dst.partitions:
        raise SemanticError(f"a row has {dst.elements} elements, src {src_ap.elements}")
    combine = _combiner(alu(instruction, "accumulate", AluOp.BYPASS), src_ap.dtype, dst.dtype)
    limit = int(instruction.params["rows"])

    def run(out: Tiles, src: Tiles) -> None:
        table: NDArray[Any] = need(out[0], "dst")
        values = need(src[0], "src")
        for p, row in enumerate(row_numbers(need(src[1], "indices")).tolist()):
            if 0 <= row < limit:
                combine(table[row : row + 1], values[p : p + 1])

    return run


def _indices(instruction: Instruction, count: int) -> None:
    table = instruction.src[0] if instruction.opcode == "dma_gather" else instruction.dst[0]
    if present(table, "table").space != Space.HBM or present(table, "table").partitions != 1:
        raise SemanticError("the table must be rows in HBM, its pattern one row")
    indices = present(instruction.src[1], "indices")
    if indices.dtype.is_float or indices.elements != 1 or indices.partitions != count:
        raise SemanticError(f"indices must be one integer in each of {count} partitions")
