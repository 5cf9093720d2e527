"""Activation functions."""

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.operators.elementwise import binary
from neuronir.frontends.torch.registry import operator


@operator("relu")
def _relu(n: Node) -> SSAValue:
    return act.relu(n.b, n["self"])


@operator("relu6", kept=True)
def _relu6(n: Node) -> SSAValue:
    return act.clip(n.b, n["self"], 0, 6)


@operator("hardtanh")
def _hardtanh(n: Node) -> SSAValue:
    return act.clip(n.b, n["self"], n.value("min_val"), n.value("max_val"))


@operator("gelu")
def _gelu(n: Node) -> SSAValue:
    # In f32, as torch computes it for narrower types too.
    wide = n.b.convert(n["self"], f32) if n.type() != f32 else n["self"]
    return n.cast(act.gelu(n.b, wide, tanh=n.value("approximate") == "tanh"))


@operator("silu", kept=True)
def _silu(n: Node) -> SSAValue:
    return n.cast(act.swish(n.b, n.b.convert(n["self"], f32)))


@operator("leaky_relu")
def _leaky_relu(n: Node) -> SSAValue:
    return act.leaky_relu(n.b, n["self"], n.value("negative_slope"))


@operator("elu")
def _elu(n: Node) -> SSAValue:
    alpha, scale, inner = n.value("alpha"), n.value("scale"), n.value("input_scale")
    x = n["self"]
    scaled = x if inner == 1 else n.b.binary_number("multiply", x, inner)
    power = n.b.unary("exponential_minus_one", act.clip(n.b, scaled, high=0))
    negative = n.b.binary_number("multiply", power, alpha * scale)
    positive = x if scale == 1 else n.b.binary_number("multiply", x, scale)
    return act.where_negative(n.b, x, negative, positive)


@operator("prelu", "_prelu_kernel", kept=True)
def _prelu(n: Node) -> SSAValue:
    x, slope = n["self"], n["weight"]
    if n.name == "aten.prelu.default" and rank(slope) == 1 and shape(slope) != (1,):
        slope = n.b.reshape(slope, (*shape(slope), *[1] * max(0, rank(x) - 2)))
    elif rank(slope) == 1 and shape(slope) == (1,):
        slope = n.b.reshape(slope, ())
    scaled = binary(n.b, "multiply", x, broadcast_to(n.b, slope, shape(x)))
    return n.b.select(n.b.compare_number(x, 0, "GT"), x, scaled)


@operator("hardsigmoid")
def _hardsigmoid(n: Node) -> SSAValue:
    return act.hard_sigmoid(n.b, n["self"], 1 / 6, 0.5)


@operator("hardswish")
def _hardswish(n: Node) -> SSAValue:
    return act.hard_swish(n.b, n["self"])


@operator("threshold")
def _threshold(n: Node) -> SSAValue:
    x = n["self"]
    keep = n.b.compare_number(x, n.value("threshold"), "GT")
    return n.b.select(keep, x, n.b.fill_like(n.value("value"), x))


@operator("log_sigmoid_forward")
def _log_sigmoid(n: Node) -> list[SSAValue | None]:
    x = n.b.convert(n["self"], f32)
    result = n.b.unary("negate", act.softplus(n.b, n.b.unary("negate", x)))
    return [n.b.convert(result, element(n["self"])), None]
