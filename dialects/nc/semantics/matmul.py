"""Compute matrix products and transposes of the tensor engine."""

import numpy as np

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.semantics.convert import store, to_f32
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Tiles, Warn, rows
from neuronir.dialects.nc.semantics.operands import present
from neuronir.dialects.nc.semantics.rounding import perturbation


def matmul(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Multiply; products of 16-bit operands are exact in fp32, and sums are fp32 in numpy's
    order.
    """
    dst = present(instruction.dst[0], "dst")
    stationary = present(instruction.src[0], "stationary")
    moving = present(instruction.src[1], "moving")
    if stationary.partitions != moving.partitions:
        raise SemanticError(
            f"stationary has {stationary.partitions} partitions, moving {moving.partitions}"
        )
    if dst.partitions != stationary.elements or dst.elements != moving.elements:
        raise SemanticError(
            f"dst is {dst.partitions} x {dst.elements}, the product is "
            f"{stationary.elements} x {moving.elements}"
        )
    accumulate = bool(instruction.params.get("accumulate", 0))
    plain = dst.dtype in (DType.F32, DType.F32R)

    def run(out: Tiles, src: Tiles) -> None:
        target, a, b = out[0], src[0], src[1]
        assert target is not None and a is not None and b is not None
        product = np.matmul(to_f32(rows(a), stationary.dtype).T, to_f32(rows(b), moving.dtype))
        product = product.reshape(target.shape)
        random = perturbation()
        if random is not None:
            product = random.product(product)
        if accumulate and plain:
            target += product
        elif accumulate:
            store(target, dst.dtype, to_f32(target, dst.dtype) + product)
        elif plain:
            target[...] = product
        else:
            store(target, dst.dtype, product)

    return run


def transpose(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Multiply by the identity.

    Up to generation 2, an infinity or NaN times the zeros of the identity makes the other results
    of its row NaN (docs/hardware.md section 3.1).
    """
    dst = present(instruction.dst[0], "dst")
    src_ap = present(instruction.src[0], "src")
    _transposed(dst, src_ap)

    def run(out: Tiles, src: Tiles) -> None:
        target, tile = out[0], src[0]
        assert target is not None and tile is not None
        values = to_f32(rows(tile), src_ap.dtype)
        result = values.T + np.float32(0)
        if generation <= 2:
            bad = ~np.isfinite(result)
            polluted = bad.sum(axis=1, keepdims=True) - bad > 0
            if polluted.any():
                result[polluted] = np.nan
        store(target, dst.dtype, result.reshape(target.shape))

    return run


def transpose_dve(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Transpose each block of 32 partitions by 32 elements, bit-exact if the types are equal."""
    dst = present(instruction.dst[0], "dst")
    src_ap = present(instruction.src[0], "src")
    if src_ap.partitions > 32 or src_ap.elements > 32:
        raise SemanticError(
            f"transposes at most 32 x 32, not {src_ap.partitions} x {src_ap.elements}"
        )
    _transposed(dst, src_ap)
    same = dst.dtype == src_ap.dtype

    def run(out: Tiles, src: Tiles) -> None:
        target, tile = out[0], src[0]
        assert target is not None and tile is not None
        if same:
            target[...] = rows(tile).T.copy().reshape(target.shape)
        else:
            values = to_f32(rows(tile), src_ap.dtype).T
            store(target, dst.dtype, values.reshape(target.shape))

    return run


def _transposed(dst: AccessPattern, src: AccessPattern) -> None:
    if dst.partitions != src.elements or dst.elements != src.partitions:
        raise SemanticError(
            f"dst is {dst.partitions} x {dst.elements}, the transpose is "
            f"{src.elements} x {src.partitions}"
        )
