"""Import optimiser steps (ai.onnx.preview.training)."""

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

DOMAIN = "ai.onnx.preview.training"


def _spread(n: Node, value: SSAValue, like: SSAValue) -> SSAValue:
    return broadcast_to(n.b, n.b.convert(n.b.reshape(value, ()), element(like)), shape(like))


def _groups(n: Node, kinds: int) -> list[list[SSAValue]]:
    """Return the tensors of each optimised variable: X1 X2 ... G1 G2 ... after rate and count."""
    tensors = [n[i] for i in range(2, len(n.operands))]
    if not tensors or len(tensors) % kinds:
        refuse(f"its tensors must come in groups of {kinds}")
    count = len(tensors) // kinds
    return [tensors[i::count] for i in range(count)]


def _results(groups: list[list[SSAValue]]) -> list[SSAValue]:
    return [group[k] for k in range(len(groups[0])) for group in groups]


def _decayed(n: Node, gradient: SSAValue, x: SSAValue) -> SSAValue:
    """Add the gradient of norm_coefficient / 2 * |x|^2."""
    weight = n.number("norm_coefficient", 0.0)
    return n.b.binary("add", n.b.binary_number("multiply", x, weight), gradient)


@operator("Adagrad", domain=DOMAIN)
def _adagrad(n: Node) -> list[SSAValue]:
    b = n.b
    made = []
    for x, gradient, history in _groups(n, 3):
        step = b.binary_number("multiply", b.convert(n[1], f32), n.number("decay_factor", 0.0))
        rate = b.binary("divide", b.convert(n[0], f32), b.binary_number("add", step, 1))
        full = _decayed(n, gradient, x)
        history = b.binary("add", history, b.binary("multiply", full, full))
        bottom = b.binary_number("add", b.unary("sqrt", history), n.number("epsilon", 1e-6))
        change = b.binary("multiply", _spread(n, rate, x), b.binary("divide", full, bottom))
        made.append([b.binary("subtract", x, change), history])
    return _results(made)


@operator("Momentum", domain=DOMAIN)
def _momentum(n: Node) -> list[SSAValue]:
    b = n.b
    alpha, beta = n.number("alpha", 0.0), n.number("beta", 0.0)
    mode = n.text("mode", "standard")
    made = []
    for x, gradient, velocity in _groups(n, 3):
        full = _decayed(n, gradient, x)
        first = b.compare_number(_spread(n, n[1], x), 0, "EQ")
        share = b.select(first, b.fill_like(1, x), b.fill_like(beta, x))
        velocity = b.binary(
            "add", b.binary_number("multiply", velocity, alpha), b.binary("multiply", share, full)
        )
        change = velocity
        if mode == "nesterov":
            change = b.binary("add", full, b.binary_number("multiply", velocity, alpha))
        change = b.binary("multiply", _spread(n, n[0], x), change)
        made.append([b.binary("subtract", x, change), velocity])
    return _results(made)


@operator("Adam", domain=DOMAIN)
def _adam(n: Node) -> list[SSAValue]:
    b = n.b
    alpha, beta = n.number("alpha", 0.9), n.number("beta", 0.999)
    made = []
    for x, gradient, mean, squares in _groups(n, 4):
        full = _decayed(n, gradient, x)
        mean = _mixed(n, mean, full, alpha)
        squares = _mixed(n, squares, b.binary("multiply", full, full), beta)
        bottom = b.binary_number("add", b.unary("sqrt", squares), n.number("epsilon", 1e-6))
        rate = _spread(n, n[0], x)
        step = _spread(n, n[1], x)
        started = b.compare_number(step, 0, "GT")
        shares = [
            b.binary("subtract", b.fill_like(1, x), b.binary("power", b.fill_like(v, x), step))
            for v in (beta, alpha)
        ]
        corrected = b.binary(
            "divide", b.binary("multiply", rate, b.unary("sqrt", shares[0])), shares[1]
        )
        rate = b.select(started, corrected, rate)
        change = b.binary("divide", b.binary("multiply", rate, mean), bottom)
        after = b.binary("subtract", x, change)
        after = b.binary_number("multiply", after, 1 - n.number("norm_coefficient_post", 0.0))
        made.append([after, mean, squares])
    return _results(made)


def _mixed(n: Node, old: SSAValue, new: SSAValue, share: float) -> SSAValue:
    return n.b.binary(
        "add",
        n.b.binary_number("multiply", old, share),
        n.b.binary_number("multiply", new, 1 - share),
    )
