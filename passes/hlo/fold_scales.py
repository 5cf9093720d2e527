"""hlo-fold-scales: constant factors after a convolution become part of its constant filter."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.hlo.flops import FLOPS
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    ints,
    is_tensor,
    producer,
    shape,
    splat,
)
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

Vector = NDArray[np.float32]


@dataclass
class _Affine:
    """What follows a convolution: factor * result + offset, by output feature; `last` is its last
    op."""

    factor: Vector
    offset: Vector
    last: Operation | None = None
    scaled: bool = False


def _vector(value: SSAValue, dimension: int, size: int) -> Vector | None:
    """The constant numbers by feature that `value` repeats along its other dimensions."""
    one = splat(value)
    if one is not None:
        return np.full(size, one, np.float32)
    broadcast = producer(value, "broadcast")
    if broadcast is None or ints(broadcast, "dimensions") != (dimension,):
        return None
    constant = producer(broadcast.operands[0], "constant")
    return None if constant is None else constant_array(constant).astype(np.float32)


def _follow(conv: Operation) -> _Affine:
    """The constant factors and offsets by feature that are applied to a convolution alone."""
    dimension = integer(conv, "output_feature_dim")
    size = shape(conv.results[0])[dimension]
    found = _Affine(np.ones(size, np.float32), np.zeros(size, np.float32))
    value: SSAValue = conv.results[0]
    while value.has_one_use():
        use = next(iter(value.uses))
        op = use.operation
        name = op.name.removeprefix("hlo.")
        if name not in ("add", "subtract", "multiply") or op.operands[0] is op.operands[1]:
            break
        if name == "subtract" and use.index == 1:
            break
        vector = _vector(op.operands[1 - use.index], dimension, size)
        if vector is None:
            break
        if name == "multiply":
            found.factor, found.offset = found.factor * vector, found.offset * vector
            found.scaled = True
        else:
            found.offset = found.offset + (vector if name == "add" else -vector)
        found.last = op
        value = op.results[0]
    return found


def fold(conv: Operation) -> bool:
    """Fold what follows one convolution into its filter and one offset."""
    weights = producer(conv.operands[1], "constant")
    if not is_tensor(conv.results[0]) or element(conv.results[0]) != f32 or weights is None:
        return False
    if element(conv.operands[1]) != f32 or not conv.operands[1].has_one_use():
        return False
    with np.errstate(all="ignore"):
        after = _follow(conv)
        if not after.scaled or after.last is None:
            return False
        array = constant_array(weights).astype(np.float32, copy=False)
        feature = integer(conv, "kernel_output_feature_dim")
        along = [1] * array.ndim
        along[feature] = array.shape[feature]
        scaled = array * after.factor.reshape(along)
    usual = np.abs(scaled) >= np.finfo(np.float32).tiny
    zero = (array == 0.0) | (after.factor.reshape(along) == 0.0)
    if not (np.isfinite(scaled) & (usual | zero)).all() or not np.isfinite(after.offset).all():
        return False
    emitter = Emitter(conv)
    result = emitter.like(conv, [conv.operands[0], emitter.constant(scaled)], conv.results[0].type)
    if FLOPS in conv.attributes:
        emitter.created[-1].attributes[FLOPS] = conv.attributes[FLOPS]
    if np.any(after.offset != 0.0):
        bias = emitter.constant(after.offset)
        dimension = integer(conv, "output_feature_dim")
        spread = emitter.broadcast(bias, shape(result), [dimension])
        result = emitter.binary("add", result, spread)
    after.last.results[0].replace_all_uses_with(result)
    return True


def _fold_block(block: Block) -> int:
    return sum(fold(op) for op in tuple(block.ops) if op.name == "hlo.convolution")


@dataclass(frozen=True)
class HloFoldScalesPass(ModulePass):
    """Fold constant factors by output feature (an inference batch norm) into constant filters.

    convolution(x, w) * s, with constant offsets before and after, becomes convolution(x, w * s) and
    one offset, for filters in fp32 that nothing else reads, where the product is finite and no
    number becomes subnormal. It costs one more rounding of a filter in fp32, and runs before
    hlo-auto-cast, so that filters are rounded to its type once. What became dead is left for
    hlo-dce.
    """

    name = "hlo-fold-scales"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = sum(_fold_block(block) for block in blocks(op))
        record(self.name, "folded", folded)
