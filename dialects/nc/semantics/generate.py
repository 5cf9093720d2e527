"""Compute instructions that generate data from indices: iota, selection, gather, random
bits.
"""

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import AluOp, Engine
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.semantics.alu import Domain, operator
from neuronir.dialects.nc.semantics.convert import copier, raw, store
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Tiles, Warn, need, rows
from neuronir.dialects.nc.semantics.operands import alu, equal_extent, number, present


def _affine(instruction: Instruction, ap: AccessPattern) -> NDArray[np.int32]:
    """Return base + p * channel_multiplier + sum(step_k * i_k) over the shape of `ap`, modulo
    2^32.
    """
    params = instruction.params
    shape = (ap.partitions, *(size for _, size in ap.free))
    steps = [int(params.get(f"step{k}", 0)) for k in range(len(ap.free))]
    value = np.full(shape, int(params["base"]), np.int64)
    for axis, step in enumerate((int(params["channel_multiplier"]), *steps)):
        extent = [1] * len(shape)
        extent[axis] = shape[axis]
        value += step * np.arange(shape[axis], dtype=np.int64).reshape(extent)
    return value.astype(np.int32)


def iota(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute an affine function of partition and element, in int32."""
    dst = present(instruction.dst[0], "dst")
    values = _affine(instruction, dst)

    def run(out: Tiles, src: Tiles) -> None:
        store(need(out[0], "dst"), dst.dtype, values)

    return run


_COMPARES = frozenset(
    {AluOp.IS_EQ, AluOp.IS_NE, AluOp.IS_GT, AluOp.IS_GE, AluOp.IS_LT, AluOp.IS_LE}
)


def affine_select(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Copy src where an affine function of the position compares with 0; elsewhere write `fill`."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    equal_extent(dst, src_ap, "src")
    op = alu(instruction, "op")
    if op not in _COMPARES:
        raise SemanticError(f"affine_select compares; {op.name.lower()} is not a comparison")
    holds = operator(op, Domain.SIGNED)(_affine(instruction, dst), np.int32(0)) != 0
    copy = copier(src_ap.dtype, dst.dtype)
    fill = np.empty(1, dst.dtype.numpy)
    store(fill, dst.dtype, np.array([number(instruction, "fill")], np.float32))

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        values = np.empty(target.shape, target.dtype)
        copy(values, need(src[0], "src"))
        target[...] = np.where(holds, values, fill[0])

    return run


def n_gather(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute dst[p, i] = src[p, indices[p, i]]."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    indices = present(instruction.src[1], "indices")
    equal_extent(dst, indices, "indices")
    if indices.dtype.is_float:
        raise SemanticError("indices must be integers")
    copy = copier(src_ap.dtype, dst.dtype)
    limit = src_ap.elements

    def run(out: Tiles, src: Tiles) -> None:
        target, table = need(out[0], "dst"), rows(need(src[0], "src"))
        index = rows(need(src[1], "indices")).astype(np.int64)
        wrong = (index < 0) | (index >= limit)
        if wrong.any():
            p, i = (int(v) for v in np.argwhere(wrong)[0])
            raise SemanticError(
                f"index {int(index[p, i])} (partition {p}, element {i}) is outside 0..{limit - 1}"
            )
        picked = np.take_along_axis(raw(table), index, axis=1).view(table.dtype)
        copy(target, picked.reshape(target.shape))

    return run


def rng(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Generate random bits: a counter hashed with the seed (the hardware's algorithm is not
    public).

    Each run of the instruction continues the sequence of the previous run.
    """
    dst = present(instruction.dst[0], "dst")
    if instruction.engine != Engine.DVE or dst.dtype.is_float:
        raise SemanticError("rng gives integers, on dve")
    seed = int(instruction.params.get("seed", 0))
    generator = np.random.Generator(np.random.Philox(key=seed & ((1 << 64) - 1)))

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        bits = generator.integers(0, 1 << 32, size=target.shape, dtype=np.uint32)
        raw(target)[...] = bits.astype(raw(target).dtype)

    return run
