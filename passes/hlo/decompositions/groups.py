"""Decompose grouped convolutions and convolutions of two types.

Small groups are placed side by side in one filter with zeros in between.
"""

from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.hlo.flops import FLOPS, note_flops
from neuronir.passes.hlo.decompositions.crops import cropped
from neuronir.passes.hlo.decompositions.depthwise_gradients import (
    ROWS,
    depthwise_gradient,
    joined_gradient,
)
from neuronir.passes.hlo.decompositions.integer_convolutions import integer_convolution
from neuronir.passes.hlo.decompositions.operands import of_one_type
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    producer,
    shape,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

_COMPUTED = 1 << 22
"""Limit of elements of a zero-padded filter built at run time; constant ones may be larger."""


def convolution(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a grouped convolution, and one of integers.

    Batch groups become feature groups, and small feature groups are joined. Operands of f32 and a
    narrower type get one type, and negative padding is cut first.
    """
    same = of_one_type(op, e) or integer_convolution(op, e)
    if same is not None:
        return same
    part = cropped(op, e)
    if part is not None:
        return part
    if integer(op, "batch_group_count", 1) > 1:
        gradient = joined_gradient(op, e)
        if gradient is not None:
            return gradient
        note_flops(op)
        return _batch_groups(op, e)
    groups = integer(op, "feature_group_count", 1)
    if groups == 1:
        return None
    gradient = depthwise_gradient(op, e)
    if gradient is not None:
        return gradient
    filter_shape = shape(op.operands[1])
    ins = filter_shape[integer(op, "kernel_input_feature_dim")]
    outs = filter_shape[integer(op, "kernel_output_feature_dim")] // groups
    if (_even(ins), _even(outs)) != (ins, outs):
        return _padded(op, e, groups, _even(ins), _even(outs))
    limit = ROWS // max(ins, outs, 1)
    if producer(op.operands[1], "constant") is None:
        limit = min(limit, max(1, _COMPUTED // max(1, prod(filter_shape))))
    joined = max((d for d in range(1, limit + 1) if groups % d == 0), default=1)
    if 2 * joined < min(limit, groups):
        bundles = -(-groups // limit)
        return _padded(op, e, bundles * -(-groups // bundles), ins, outs)
    if joined == 1:
        return None
    note_flops(op)
    weights = _side_by_side(op, e, joined, outs)
    return _again(op, e, [op.operands[0], weights], groups // joined)


def _even(size: int) -> int:
    """Return the least number of features, at least `size`, such that no tile crosses a group.

    It is a multiple of a tile of at least half the rows of the engine.
    """
    if size <= ROWS or any(size % d == 0 for d in range(ROWS // 2, ROWS + 1)):
        return size
    tiles = -(-size // ROWS)
    return tiles * -(-size // tiles)


def _padded(op: Operation, e: Emitter, groups: int, ins: int, outs: int) -> SSAValue:
    """Pad a convolution to more groups, and to more features in each group, with zeros."""
    note_flops(op)
    x, weights = op.operands
    before = integer(op, "feature_group_count")
    feature, o_feature = integer(op, "input_feature_dim"), integer(op, "output_feature_dim")
    k_in, k_out = integer(op, "kernel_input_feature_dim"), integer(op, "kernel_output_feature_dim")
    x = _grown(e, x, feature, before, groups, ins)
    weights = _grown(e, weights, k_out, before, groups, outs)
    weights = _grown(e, weights, k_in, 1, 1, ins)
    wide = list(shape(op.results[0]))
    wide[o_feature] = groups * outs
    properties = dict(op.properties) | {"feature_group_count": i64_attr(groups)}
    kind = tensor(tuple(wide), element(op.results[0]))
    result = e.emit("convolution", [x, weights], kind, properties)
    e.created[-1].attributes[FLOPS] = op.attributes[FLOPS]
    old = shape(op.results[0])[o_feature] // before
    split = (*wide[:o_feature], groups, outs, *wide[o_feature + 1 :])
    limits = list(split)
    limits[o_feature], limits[o_feature + 1] = before, old
    parts = e.slice(e.reshape(result, split), [0] * len(split), limits)
    return e.reshape(parts, shape(op.results[0]))


def _grown(e: Emitter, value: SSAValue, d: int, before: int, groups: int, size: int) -> SSAValue:
    """Pad dimension d of `value` from `before` groups to `groups` of `size` each."""
    dims = shape(value)
    split = (*dims[:d], before, dims[d] // before, *dims[d + 1 :])
    low, high = [0] * len(split), [0] * len(split)
    high[d], high[d + 1] = groups - before, size - dims[d] // before
    zero = e.scalar(0, element(value))
    wide = e.pad(e.reshape(value, split), zero, low, high)
    return e.reshape(wide, (*dims[:d], groups * size, *dims[d + 1 :]))


def _again(op: Operation, e: Emitter, operands: list[SSAValue], groups: int) -> SSAValue:
    properties = dict(op.properties)
    properties["feature_group_count"] = i64_attr(groups)
    properties["batch_group_count"] = i64_attr(1)
    result = e.emit("convolution", operands, op.results[0].type, properties)
    e.created[-1].attributes[FLOPS] = op.attributes[FLOPS]
    return result


def _side_by_side(op: Operation, e: Emitter, joined: int, outs: int) -> SSAValue:
    """Build the filter of `joined` groups; features of the other groups are multiplied by zero."""
    weights = op.operands[1]
    dims = list(shape(weights))
    k_in, k_out = integer(op, "kernel_input_feature_dim"), integer(op, "kernel_output_feature_dim")
    ins, rank = dims[k_in], len(dims)
    wide = [*dims[:k_in], joined, *dims[k_in:]]
    merged = list(dims)
    merged[k_in] = joined * ins
    # the group of each output feature, within its bundle
    own = np.arange(dims[k_out]) // outs % joined
    mask = np.arange(joined)[:, None] == own[None, :]
    out_place = k_out + (k_out > k_in)
    constant = producer(weights, "constant")
    if constant is not None:
        array = np.expand_dims(constant_array(constant), k_in)
        along = [1] * (rank + 1)
        along[k_in], along[out_place] = mask.shape
        shaped = (mask if out_place > k_in else mask.T).reshape(along)
        spread = np.where(shaped, array, np.zeros((), array.dtype))
        return e.constant(spread.reshape(merged))
    if ins == 1:
        return _diagonals(op, e, joined, outs)
    old = [d if d < k_in else d + 1 for d in range(rank)]
    everywhere = e.broadcast(weights, wide, old)
    chosen = e.broadcast(e.constant(mask), wide, [k_in, out_place])
    kept = e.select(chosen, everywhere, e.fill_like(0, everywhere))
    return e.reshape(kept, tuple(merged))


def _diagonals(op: Operation, e: Emitter, joined: int, outs: int) -> SSAValue:
    """Build the filter of `joined` groups of one input feature, from a value of each row."""
    weights = op.operands[1]
    dims = list(shape(weights))
    k_in, k_out = integer(op, "kernel_input_feature_dim"), integer(op, "kernel_output_feature_dim")
    bundles = dims[k_out] // (joined * outs)
    split = [*dims[:k_out], bundles, joined, outs, *dims[k_out + 1 :]]
    own = [d if d < k_out else d + 2 for d in range(len(dims))]
    row = own[k_in]
    wide = list(split)
    wide[row] = joined
    # the dimension of the groups of a bundle becomes that of the rows
    order = [row if d == k_out + 1 else d for d in range(len(split)) if d != row]
    values = e.reshape(weights, [n for d, n in enumerate(split) if d != row])
    everywhere = e.broadcast(values, wide, order)
    mask = e.constant(np.eye(joined, dtype=np.bool_))
    chosen = e.broadcast(mask, wide, [row, k_out + 1])
    kept = e.select(chosen, everywhere, e.fill_like(0, everywhere))
    merged = list(dims)
    merged[k_in] = joined
    return e.reshape(kept, tuple(merged))


def _batch_groups(op: Operation, e: Emitter) -> SSAValue:
    """Rewrite batch groups: the batch parts, one for each group of output features, become
    features.
    """
    groups = integer(op, "batch_group_count")
    batch, feature = integer(op, "input_batch_dim"), integer(op, "input_feature_dim")
    x = op.operands[0]
    dims = list(shape(x))
    split = [*dims[:batch], groups, dims[batch] // groups, *dims[batch + 1 :]]
    place = feature + (feature > batch)
    order = [d for d in range(len(split)) if d != batch]
    order.insert(order.index(place), batch)
    parts = e.reshape(x, tuple(split))
    moved = e.transpose(parts, order)
    merged = list(dims)
    merged[batch] //= groups
    merged[feature] *= groups
    return _again(op, e, [e.reshape(moved, tuple(merged)), op.operands[1]], groups)


RULES: dict[str, Rule] = {"convolution": convolution}
