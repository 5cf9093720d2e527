"""Import special functions, by the expansions that XLA and JAX use."""

from math import pi

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.stablehlo.expansions import expand
from neuronir.frontends.torch.node import Node, element
from neuronir.frontends.torch.operators.elementwise import is_negative
from neuronir.frontends.torch.registry import Function, operator

UNARY = {
    "erfinv": "erf_inv",
    "lgamma": "lgamma",
    "special_i0e": "bessel_i0e",
    "special_i1e": "bessel_i1e",
}
"""Unary functions with an expansion."""

BINARY = {"nextafter": "next_after", "special_zeta": "zeta"}
"""Binary functions with an expansion."""

_SCALED = {
    "i0": "bessel_i0e",
    "special_i1": "bessel_i1e",
    "special_modified_bessel_i0": "bessel_i0e",
    "special_modified_bessel_i1": "bessel_i1e",
}
"""Bessel functions, as exp(|x|) times the scaled function of the expansion."""


def _unary(name: str) -> Function:
    return lambda n: expand(n.b, name, [n.operand("self", n.type())])


def _scaled(name: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = n.operand("self", n.type())
        growth = n.b.unary("exponential", n.b.unary("abs", x))
        return n.b.binary("multiply", growth, expand(n.b, name, [x]))

    return build


def _binary(name: str) -> Function:
    return lambda n: expand(n.b, name, [n.full("self"), n.full("other")])


for _name, _function in UNARY.items():
    operator(_name)(_unary(_function))
for _name, _function in _SCALED.items():
    operator(_name)(_scaled(_function))
for _name, _function in BINARY.items():
    operator(_name)(_binary(_function))


@operator("digamma")
def _digamma(n: Node) -> SSAValue:
    return digamma(n, n.operand("self", n.type()))


def digamma(n: Node, x: SSAValue) -> SSAValue:
    """Return digamma, which is an infinity of the other sign at a zero."""
    b = n.b
    pole = b.fill_like(float("inf"), x)
    pole = b.select(is_negative(b, x), pole, b.unary("negate", pole))
    return b.select(b.compare_number(x, 0, "EQ"), pole, expand(b, "digamma", [x]))


@operator("polygamma")
def _polygamma(n: Node) -> SSAValue:
    """Compute digamma, or trigamma as zeta(2, x) with a reflection below 1/2."""
    b, x = n.b, n.operand("self", n.type())
    order = int(n.value("n"))
    if order == 0:
        return digamma(n, x)
    x = b.convert(x, f32) if byte_size(n.type()) < 4 else x
    if order > 1:
        refuse("of an order above 1 it is not supported")
    below = b.compare_number(x, 0.5, "LT")
    mirrored = b.select(below, b.binary("subtract", b.fill_like(1, x), x), x)
    zeta = expand(b, "zeta", [b.fill_like(2, x), mirrored])
    sine = b.unary("sine", b.binary_number("multiply", x, pi))
    pole = b.binary("divide", b.fill_like(pi**2, x), b.binary("multiply", sine, sine))
    return n.cast(b.select(below, b.binary("subtract", pole, zeta), zeta))


@operator("hypot")
def _hypot(n: Node) -> SSAValue:
    """Compute max * sqrt(1 + (min / max)^2), which does not overflow before the result does."""
    b = n.b
    x, y = b.unary("abs", n.full("self")), b.unary("abs", n.full("other"))
    large, small = b.binary("maximum", x, y), b.binary("minimum", x, y)
    ratio = b.binary("divide", small, large)
    plain = b.compare(small, large, "EQ")  # 0 / 0 and inf / inf
    ratio = b.select(plain, b.fill_like(1, ratio), ratio)
    root = b.unary("sqrt", b.binary_number("add", b.binary("multiply", ratio, ratio), 1))
    found = b.binary("multiply", large, root)
    infinity = b.fill_like(float("inf"), found)
    either = b.binary("or", b.compare(x, infinity, "EQ"), b.compare(y, infinity, "EQ"))
    return b.select(either, infinity, found)


@operator("signbit")
def _signbit(n: Node) -> SSAValue:
    x = n["self"]
    return is_negative(n.b, x) if is_float(element(x)) else n.b.compare_number(x, 0, "LT")
