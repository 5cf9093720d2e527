"""hlo-fold-scales: fold constant factors after a dot or convolution into its constant weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.constants import constant_array, lazy_constant
from neuronir.dialects.hlo.flops import FLOPS
from neuronir.dialects.support.lazy import as_array
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.scale import scale_weights
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
    """The ops after a product: factor * result + offset by output feature, up to the op `last`."""

    factor: Vector
    offset: Vector
    last: Operation | None = None
    scaled: bool = False


@dataclass(frozen=True)
class _Filter:
    """The constant operand of a product: its number, its feature dimension, and that of the
    result.
    """

    operand: int
    own: int
    feature: int


def _filter(op: Operation) -> _Filter | None:
    """Match the filter of a convolution, or the side of a dot with one free dimension, if
    constant.
    """
    if op.name == "hlo.convolution":
        own, feature = integer(op, "kernel_output_feature_dim"), integer(op, "output_feature_dim")
        return _Filter(1, own, feature) if producer(op.operands[1], "constant") else None
    for i, side in ((1, "rhs"), (0, "lhs")):
        taken = {*ints(op, f"{side}_contracting_dims"), *ints(op, f"{side}_batch_dims")}
        free = [d for d in range(len(shape(op.operands[i]))) if d not in taken]
        if len(free) == 1 and producer(op.operands[i], "constant"):
            last = len(shape(op.results[0])) - 1
            return _Filter(i, free[0], last if i else len(ints(op, "lhs_batch_dims")))
    return None


def _vector(value: SSAValue, dimension: int | None, size: int) -> Vector | None:
    """Return the constant values by feature that `value` broadcasts along its other dimensions.

    Without a feature dimension only a uniform value is accepted.
    """
    one = splat(value)
    if one is not None:
        return np.full(size, one, np.float32)
    broadcast = producer(value, "broadcast")
    if broadcast is None or dimension is None or ints(broadcast, "dimensions") != (dimension,):
        return None
    constant = producer(broadcast.operands[0], "constant")
    return None if constant is None else constant_array(constant).astype(np.float32)


def _follow(product: Operation, feature: int) -> _Affine:
    """Collect the constant factors and offsets by feature that are applied to a product alone."""
    dimension: int | None = feature
    size = shape(product.results[0])[feature]
    found = _Affine(np.ones(size, np.float32), np.zeros(size, np.float32))
    value: SSAValue = product.results[0]
    while value.has_one_use():
        use = next(iter(value.uses))
        op = use.operation
        name = op.name.removeprefix("hlo.")
        if name == "reshape":  # the features have another shape from here on
            dimension = None
            value = op.results[0]
            continue
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


def fold(product: Operation) -> bool:
    """Fold the ops after one product into its filter and one offset."""
    if not is_tensor(product.results[0]) or element(product.results[0]) != f32:
        return False
    where = _filter(product)
    if where is None:
        return False
    given = product.operands[where.operand]
    if any(element(v) != f32 for v in product.operands) or not given.has_one_use():
        return False
    with np.errstate(all="ignore"):
        after = _follow(product, where.feature)
        weights = producer(given, "constant")
        if not after.scaled or after.last is None or weights is None:
            return False
    scaled = scale_weights(as_array(lazy_constant(weights)), after.factor, where.own)
    if scaled is None or not np.isfinite(after.offset).all():
        return False
    emitter = Emitter(product)
    operands = list(product.operands)
    operands[where.operand] = emitter.constant(scaled, owned=True)
    result = emitter.like(product, operands, product.results[0].type)
    if FLOPS in product.attributes:
        emitter.created[-1].attributes[FLOPS] = product.attributes[FLOPS]
    if np.any(after.offset != 0.0):
        bias = emitter.constant(after.offset)
        spread = emitter.broadcast(bias, shape(result), [where.feature])
        result = emitter.binary("add", result, spread)
    result = emitter.reshape(result, shape(after.last.results[0]))
    after.last.results[0].replace_all_uses_with(result)
    return True


def _fold_block(block: Block) -> int:
    names = ("hlo.convolution", "hlo.dot")
    return sum(fold(op) for op in tuple(block.ops) if op.name in names)


@dataclass(frozen=True)
class HloFoldScalesPass(ModulePass):
    """Fold constant factors of output features into constant filters and weights.

    convolution(x, w) * s, with constant offsets before and after (an inference batch norm),
    becomes convolution(x, w * s) with one offset. dot(x, w) * s (the queries of attention) becomes
    dot(x, w * s). Applied to fp32 weights without other users, if no product becomes infinite or
    subnormal. Weights are rounded once more in fp32. Runs before hlo-auto-cast, so that they are
    rounded to its type once.
    """

    name = "hlo-fold-scales"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = sum(_fold_block(block) for block in blocks(op))
        record(self.name, "folded", folded)
