"""Import softmax and normalisations."""

from collections.abc import Callable
from math import prod

from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import byte_size
from neuronir.frontends.graph import normalization as norm
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_to
from neuronir.frontends.graph.reductions import axis_from, mean, sum_square, total, wide
from neuronir.frontends.onnx.node import Node, type_of
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

Softmax = Callable[[BlockBuilder, SSAValue, list[int]], SSAValue]


def _register(name: str, softmax: Softmax) -> None:
    @operator(name, since=13)
    def along_axis(n: Node) -> SSAValue:
        return softmax(n.b, n[0], [axis_from(n.integer("axis", -1), len(shape(n[0])))])

    @operator(name)
    def from_axis_on(n: Node) -> SSAValue:
        """Before opset 13: over all dimensions from the axis on, flattened."""
        dims = shape(n[0])
        axis = axis_from(n.integer("axis", 1), len(dims))
        flat = n.b.reshape(n[0], (*dims[:axis], prod(dims[axis:])))
        return n.b.reshape(softmax(n.b, flat, [axis]), dims)


_register("Softmax", norm.softmax)
_register("LogSoftmax", norm.log_softmax)


@operator("BatchNormalization", "SpatialBN")
def _batch_normalization(n: Node) -> list[SSAValue]:
    b, x = n.b, n[0]
    epsilon = n.number("epsilon", 1e-5)
    dims = shape(x)
    if not n.flag("spatial", True) and len(dims) > 2:
        refuse("statistics for each position (spatial = 0) are not supported")
    training = n.flag("training_mode")
    if n.opset < 7:
        training = not n.flag("is_test") and any(n.wants(i) for i in range(1, 5))
    kind = element(n[3])
    computed = kind if byte_size(kind) >= byte_size(element(x)) else element(x)
    x, scale, offset, average, spread = (b.convert(n[i], computed) for i in range(5))
    feature = 1 if len(dims) > 1 else 0
    if not training:
        result = norm.batch_norm(b, x, scale, offset, average, spread, epsilon, feature)
        return [b.convert(result, element(n[0]))]
    momentum = n.number("momentum", 0.9)
    current_mean, current_spread = norm.batch_statistics(b, x, feature)
    result = norm.batch_norm(b, x, scale, offset, current_mean, current_spread, epsilon, feature)
    running = [
        b.binary(
            "add",
            b.binary_number("multiply", old, momentum),
            b.binary_number("multiply", new, 1 - momentum),
        )
        for old, new in ((average, current_mean), (spread, current_spread))
    ]
    return [b.convert(result, element(n[0])), *(b.convert(v, kind) for v in running)]


@operator("InstanceNormalization")
def _instance_normalization(n: Node) -> SSAValue:
    x, b = n[0], n.b
    dims = shape(x)
    spatial = list(range(2, len(dims)))
    result = norm.standardise(b, wide(b, x), spatial, n.number("epsilon", 1e-5))[0]
    result = b.convert(result, element(x))
    scale, offset = (along(b, n[i], dims, 1) for i in (1, 2))
    return norm.affine(b, result, scale, offset)


def _stash(n: Node, value: SSAValue) -> tuple[SSAValue, Attribute]:
    """Convert the value to the type of the statistics."""
    type_ = type_of(n.integer("stash_type", 1))
    own = element(value)
    computed = own if byte_size(own) > byte_size(type_) else type_
    return n.b.convert(value, computed), computed


@operator("LayerNormalization")
def _layer_normalization(n: Node) -> list[SSAValue]:
    b, x = n.b, n[0]
    dims = list(range(axis_from(n.integer("axis", -1), len(shape(x))), len(shape(x))))
    value, _ = _stash(n, x)
    result, average, inverse = norm.standardise(b, value, dims, n.number("epsilon", 1e-5))
    result = norm.affine(b, b.convert(result, element(x)), n[1], n.get(2))
    return [result, average, inverse]


@operator("RMSNormalization")
def _rms_normalization(n: Node) -> SSAValue:
    b, x = n.b, n[0]
    dims = list(range(axis_from(n.integer("axis", -1), len(shape(x))), len(shape(x))))
    value, _ = _stash(n, x)
    result = norm.rms(b, value, dims, n.number("epsilon", 1e-5))
    return norm.affine(b, b.convert(result, element(x)), n[1], None)


@operator("GroupNormalization")
def _group_normalization(n: Node) -> SSAValue:
    b, x = n.b, n[0]
    dims = shape(x)
    groups = n.integer("num_groups", 1)
    if groups < 1 or dims[1] % groups:
        refuse(f"{dims[1]} features do not divide into {groups} groups")
    value, _ = _stash(n, x)
    grouped = b.reshape(value, (dims[0], groups, prod(dims[1:]) // groups))
    result = norm.standardise(b, grouped, [2], n.number("epsilon", 1e-5))[0]
    result = b.convert(b.reshape(result, dims), element(x))
    scale, offset = n[1], n[2]
    if n.opset < 21:
        # One value for each group.
        each = (groups, dims[1] // groups)
        scale, offset = (b.reshape(b.broadcast(v, each, [0]), (dims[1],)) for v in (scale, offset))
    return norm.affine(b, result, along(b, scale, dims, 1), along(b, offset, dims, 1))


@operator("LpNormalization")
def _lp_normalization(n: Node) -> SSAValue:
    b, x = n.b, n[0]
    dims = [axis_from(n.integer("axis", -1), len(shape(x)))]
    p = n.integer("p", 2)
    if p == 1:
        size = total(b, b.unary("abs", x), dims, keep=True)
    elif p == 2:
        size = b.unary("sqrt", sum_square(b, x, dims, keep=True))
    else:
        refuse(f"p = {p}; it must be 1 or 2")
    # Zeros stay zeros.
    empty = b.compare_number(size, 0, "EQ")
    safe = b.select(empty, b.fill_like(1, size), size)
    return b.binary("divide", x, broadcast_to(b, safe, shape(x)))


@operator("MeanVarianceNormalization")
def _mean_variance_normalization(n: Node) -> SSAValue:
    b, x = n.b, n[0]
    axes = n.ints("axes") or [0, 2, 3]
    dims = [axis_from(a, len(shape(x))) for a in axes]
    average = mean(b, x, dims, keep=True)
    squares = mean(b, b.binary("multiply", x, x), dims, keep=True)
    spread = b.binary("subtract", squares, b.binary("multiply", average, average))
    deviation = b.binary_number("add", b.unary("sqrt", spread), 1e-9)
    centred = b.binary("subtract", x, broadcast_to(b, average, shape(x)))
    return b.binary("divide", centred, broadcast_to(b, deviation, shape(x)))


@operator("LRN")
def _lrn(n: Node) -> SSAValue:
    size = n.integer("size", 1)
    alpha = n.number("alpha", 1e-4) / size
    beta, bias = n.number("beta", 0.75), n.number("bias", 1.0)
    return norm.local_response(n.b, n[0], 1, size, alpha=alpha, beta=beta, bias=bias)
