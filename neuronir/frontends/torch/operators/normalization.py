"""Import softmax and normalisations, with statistics in f32."""

from math import prod

import torch
from xdsl.ir import SSAValue

from neuronir.frontends.graph import normalization as norm
from neuronir.frontends.graph.broadcasting import along, broadcast_to
from neuronir.frontends.graph.reductions import axis_from, reduce, wide
from neuronir.frontends.torch.node import Node, rank, shape
from neuronir.frontends.torch.registry import operator


@operator("_safe_softmax")
def _safe_softmax(n: Node) -> SSAValue:
    """Return zeros where all elements are -inf."""
    x, result = n["self"], _softmax_of(n)
    if rank(x) == 0:
        return result
    peak = reduce(n.b, x, "maximum", [axis_from(n.value("dim"), rank(x))], keep=True)
    none = broadcast_to(n.b, n.b.compare_number(peak, float("-inf"), "EQ"), shape(x))
    return n.b.select(none, n.b.fill_like(0, result), result)


@operator("_softmax", "softmax")
def _softmax(n: Node) -> SSAValue:
    return _softmax_of(n)


def _softmax_of(n: Node) -> SSAValue:
    x = wide(n.b, n.b.convert(n["self"], n.type()))
    if rank(x) == 0:
        return n.cast(n.b.fill_like(1, x))
    return n.cast(norm.softmax(n.b, x, [axis_from(n.value("dim"), rank(x))]))


@operator("_log_softmax", "log_softmax")
def _log_softmax(n: Node) -> SSAValue:
    x = wide(n.b, n.b.convert(n["self"], n.type()))
    if rank(x) == 0:
        return n.cast(n.b.fill_like(0, x))
    return n.cast(norm.log_softmax(n.b, x, [axis_from(n.value("dim"), rank(x))]))


@operator("native_layer_norm")
@operator("layer_norm", kept=True)
def _layer_norm(n: Node) -> list[SSAValue]:
    b, x = n.b, wide(n.b, n["input"])
    count = len(n.ints("normalized_shape"))
    dims = tuple(range(rank(x) - count, rank(x)))
    result, average, inverse = norm.standardise(b, x, dims, n.value("eps"))
    scale, offset = n.get("weight"), n.get("bias")
    scale = None if scale is None else wide(b, scale)
    offset = None if offset is None else wide(b, offset)
    result = norm.affine(b, result, scale, offset)
    if n.name == "aten.layer_norm.default":
        return [n.cast(result)]
    return [n.cast(result), b.convert(average, n.type(1)), b.convert(inverse, n.type(2))]


@operator("rms_norm", kept=True)
def _rms_norm(n: Node) -> SSAValue:
    b, x = n.b, wide(n.b, n["input"])
    count = len(n.ints("normalized_shape"))
    own = n.fakes["input"].dtype
    epsilon = n.value("eps")
    epsilon = torch.finfo(own).eps if epsilon is None else epsilon
    result = norm.rms(b, x, tuple(range(rank(x) - count, rank(x))), epsilon)
    scale = n.get("weight")
    return n.cast(norm.affine(b, result, None if scale is None else wide(b, scale), None))


@operator("native_group_norm")
def _group_norm(n: Node) -> list[SSAValue]:
    b, x = n.b, wide(n.b, n["input"])
    batch, features, groups = shape(x)[0], shape(x)[1], n.value("group")
    inner = prod(shape(x)[2:])
    grouped = b.reshape(x, (batch, groups, features // groups, inner))
    result, average, inverse = norm.standardise(b, grouped, (2, 3), n.value("eps"))
    result = b.reshape(result, shape(x))
    for name, opcode in (("weight", "multiply"), ("bias", "add")):
        value = n.get(name)
        if value is not None:
            result = b.binary(opcode, result, along(b, wide(b, value), shape(x), 1))
    statistics = [b.reshape(v, (batch, groups)) for v in (average, inverse)]
    return [n.cast(result), *(b.convert(v, n.type(i + 1)) for i, v in enumerate(statistics))]


def _normalised(n: Node, average: SSAValue, spread: SSAValue) -> SSAValue:
    """Apply batch normalisation with given statistics."""
    b, x = n.b, wide(n.b, n["input"])
    scale, offset = n.get("weight"), n.get("bias")
    one = b.fill_like(1, average) if scale is None else wide(b, scale)
    none = b.fill_like(0, average) if offset is None else wide(b, offset)
    epsilon = n.value("eps")
    return n.cast(norm.batch_norm(b, x, one, none, average, spread, epsilon, 1))


@operator("_native_batch_norm_legit_no_training")
def _batch_norm(n: Node) -> list[SSAValue | None]:
    average, spread = (wide(n.b, n[name]) for name in ("running_mean", "running_var"))
    return [_normalised(n, average, spread), None, None]


@operator("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "native_batch_norm")
def _batch_norm_legit(n: Node) -> list[SSAValue | None]:
    """Apply batch normalisation with the batch's statistics in training.

    The functional form also returns the new running statistics.
    """
    b = n.b
    if not n.value("training"):
        average, spread = (wide(b, n[name]) for name in ("running_mean", "running_var"))
        before = [n.get("running_mean"), n.get("running_var")]
        return [_normalised(n, average, spread), None, None, *before]
    x = wide(b, n["input"])
    average, spread = norm.batch_statistics(b, x, 1)
    result = _normalised(n, average, spread)
    inverse = b.unary("rsqrt", b.binary_number("add", spread, n.value("eps")))
    found: list[SSAValue | None] = [result, average, inverse]
    if "functional" in n.name:
        count = prod(shape(x)) // shape(x)[1]
        momentum = n.value("momentum")
        unbiased = b.binary_number("multiply", spread, count / max(1, count - 1))
        for name, new in (("running_mean", average), ("running_var", unbiased)):
            old = b.binary_number("multiply", wide(b, n[name]), 1 - momentum)
            found.append(b.binary("add", old, b.binary_number("multiply", new, momentum)))
    return [v if v is None else b.convert(v, n.type(i)) for i, v in enumerate(found)]
