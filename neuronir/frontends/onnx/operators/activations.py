"""Activation functions."""

from xdsl.ir import SSAValue

from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import shape

SELU_ALPHA, SELU_GAMMA = 1.6732632423543772, 1.0507009873554805
"""ONNX's default values."""


@operator("Relu")
def _relu(n: Node) -> SSAValue:
    return act.relu(n.b, n[0])


@operator("LeakyRelu")
def _leaky_relu(n: Node) -> SSAValue:
    return act.leaky_relu(n.b, n[0], n.number("alpha", 0.01))


@operator("PRelu")
def _prelu(n: Node) -> SSAValue:
    x, slope = n[0], n[1]
    if n.opset < 7 and len(shape(slope)) == 1 and len(shape(x)) > 1:
        slope = n.b.reshape(slope, (*shape(slope), *[1] * (len(shape(x)) - 2)))
    scaled = n.b.binary("multiply", x, broadcast_to(n.b, slope, shape(x)))
    return act.where_negative(n.b, x, scaled, x)


@operator("Elu")
def _elu(n: Node) -> SSAValue:
    return act.elu(n.b, n[0], n.number("alpha", 1.0))


@operator("Celu")
def _celu(n: Node) -> SSAValue:
    alpha = n.number("alpha", 1.0)
    return act.elu(n.b, n[0], alpha, alpha)


@operator("Selu")
def _selu(n: Node) -> SSAValue:
    return act.selu(n.b, n[0], n.number("alpha", SELU_ALPHA), n.number("gamma", SELU_GAMMA))


@operator("Gelu")
def _gelu(n: Node) -> SSAValue:
    kind = n.text("approximate", "none")
    if kind not in ("none", "tanh"):
        refuse(f"approximate = '{kind}' is not known")
    return act.gelu(n.b, n[0], tanh=kind == "tanh")


@operator("Softplus", "SoftPlus")
def _softplus(n: Node) -> SSAValue:
    return act.softplus(n.b, n[0])


@operator("Softsign")
def _softsign(n: Node) -> SSAValue:
    return act.softsign(n.b, n[0])


@operator("HardSigmoid")
def _hard_sigmoid(n: Node) -> SSAValue:
    return act.hard_sigmoid(n.b, n[0], n.number("alpha", 0.2), n.number("beta", 0.5))


@operator("HardSwish")
def _hard_swish(n: Node) -> SSAValue:
    return act.hard_swish(n.b, n[0])


@operator("Swish")
def _swish(n: Node) -> SSAValue:
    return act.swish(n.b, n[0], n.number("alpha", 1.0))


@operator("Mish")
def _mish(n: Node) -> SSAValue:
    return act.mish(n.b, n[0])


@operator("ThresholdedRelu")
def _thresholded_relu(n: Node) -> SSAValue:
    above = n.b.compare_number(n[0], n.number("alpha", 1.0), "GT")
    return n.b.select(above, n[0], n.b.fill_like(0, n[0]))


@operator("Shrink")
def _shrink(n: Node) -> SSAValue:
    x, b = n[0], n.b
    limit, bias = n.number("lambd", 0.5), n.number("bias", 0.0)
    zero = b.fill_like(0, x)
    above = b.select(b.compare_number(x, limit, "GT"), b.binary_number("subtract", x, bias), zero)
    return b.select(b.compare_number(x, -limit, "LT"), b.binary_number("add", x, bias), above)


@operator("Scale")
def _scale(n: Node) -> SSAValue:
    """Caffe2's scaling by a constant."""
    return n.b.binary_number("multiply", n[0], n.number("scale", 1.0))


@operator("ScaledTanh")
def _scaled_tanh(n: Node) -> SSAValue:
    inner = n.b.binary_number("multiply", n[0], n.number("beta", 1.0))
    return n.b.binary_number("multiply", n.b.unary("tanh", inner), n.number("alpha", 1.0))


@operator("ParametricSoftplus")
def _parametric_softplus(n: Node) -> SSAValue:
    """Compute alpha * log(1 + exp(beta * x))."""
    inner = n.b.binary_number("multiply", n[0], n.number("beta", 1.0))
    return n.b.binary_number("multiply", act.softplus(n.b, inner), n.number("alpha", 1.0))
