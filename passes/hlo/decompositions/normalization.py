"""Decompose batch_norm_* into sums and elementwise ops."""

from math import prod

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, shape
from neuronir.passes.hlo.support.walk import Rule


def _epsilon(op: Operation) -> float:
    value = op.properties.get("epsilon")
    return float(value.value.data) if isinstance(value, FloatAttr) else 0.0


class _Channels:
    """Statistics of x over all dimensions but the feature dimension, computed in f32."""

    def __init__(self, op: Operation, e: Emitter) -> None:
        self.e = e
        x = op.operands[0]
        self.dims = shape(x)
        self.feature = integer(op, "feature_index")
        self.others = [d for d in range(len(self.dims)) if d != self.feature]
        self.count = prod(self.dims[d] for d in self.others)

    def spread(self, value: SSAValue) -> SSAValue:
        """Broadcast a 1-D value to the shape of x."""
        return self.e.broadcast(value, self.dims, (self.feature,))

    def total(self, value: SSAValue) -> SSAValue:
        """Sum each channel."""
        return self.e.reduce(value, 0, self.others, "add")

    def mean(self, value: SSAValue) -> SSAValue:
        """Return the mean of each channel."""
        return self.e.binary_number("divide", self.total(value), self.count)

    def inverse_deviation(self, variance: SSAValue, epsilon: float) -> SSAValue:
        """Compute rsqrt(variance + epsilon)."""
        return self.e.unary("rsqrt", self.e.binary_number("add", variance, epsilon))


def inference(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute (x - mean) * (rsqrt(variance + epsilon) * scale) + offset."""
    x, scale, offset, mean, variance = (e.convert(v, f32) for v in op.operands)
    channels = _Channels(op, e)
    factor = e.binary("multiply", channels.inverse_deviation(variance, _epsilon(op)), scale)
    centred = e.binary("subtract", x, channels.spread(mean))
    product = e.binary("multiply", centred, channels.spread(factor))
    result = e.binary("add", product, channels.spread(offset))
    return e.convert(result, element(op.operands[0]))


def training(op: Operation, e: Emitter) -> SSAValue | None:
    """Normalise with the mean and (biased) variance of the batch, which are also results."""
    x, scale, offset = (e.convert(v, f32) for v in op.operands)
    channels = _Channels(op, e)
    mean = channels.mean(x)
    centred = e.binary("subtract", x, channels.spread(mean))
    variance = channels.mean(e.binary("multiply", centred, centred))
    factor = e.binary("multiply", channels.inverse_deviation(variance, _epsilon(op)), scale)
    product = e.binary("multiply", centred, channels.spread(factor))
    result = e.binary("add", product, channels.spread(offset))
    types = [element(v) for v in op.operands]
    return e.tuple(
        [e.convert(result, types[0]), e.convert(mean, types[1]), e.convert(variance, types[1])]
    )


def grad(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute the gradients of x, scale and offset, from the batch mean and variance.

    With n = elements per channel, d = rsqrt(variance + epsilon), c = x - mean, g = the gradient of
    the result: d_offset = sum(g), d_scale = sum(g * c) * d, d_x = scale * d * (g - d_offset / n - c
    * d * d * sum(g * c) / n).
    """
    x, scale, mean, variance, g = (e.convert(v, f32) for v in op.operands)
    channels = _Channels(op, e)
    centred = e.binary("subtract", x, channels.spread(mean))
    inverse = channels.inverse_deviation(variance, _epsilon(op))
    d_offset = channels.total(g)
    product = channels.total(e.binary("multiply", g, centred))
    d_scale = e.binary("multiply", product, inverse)
    shift = e.binary_number("divide", d_offset, channels.count)
    slope = e.binary_number("divide", e.binary("multiply", d_scale, inverse), channels.count)
    inner = e.binary("subtract", g, channels.spread(shift))
    inner = e.binary("subtract", inner, e.binary("multiply", centred, channels.spread(slope)))
    d_x = e.binary("multiply", inner, channels.spread(e.binary("multiply", scale, inverse)))
    types = [element(v) for v in op.operands]
    return e.tuple(
        [e.convert(d_x, types[0]), e.convert(d_scale, types[1]), e.convert(d_offset, types[1])]
    )


RULES: dict[str, Rule] = {
    "batch_norm_inference": inference,
    "batch_norm_training": training,
    "batch_norm_grad": grad,
}
