"""Build activation functions and other elementwise functions without an hlo op."""

import math

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder


def relu(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute max(x, 0)."""
    return b.binary("maximum", x, b.fill_like(0, x))


def clip(
    b: BlockBuilder, x: SSAValue, low: float | None = None, high: float | None = None
) -> SSAValue:
    """Clamp x to a range."""
    if low is not None:
        x = b.binary("maximum", x, b.fill_like(low, x))
    if high is not None:
        x = b.binary("minimum", x, b.fill_like(high, x))
    return x


def where_negative(b: BlockBuilder, x: SSAValue, negative: SSAValue, other: SSAValue) -> SSAValue:
    """Select `negative` where x < 0, else `other`."""
    return b.select(b.compare_number(x, 0, "LT"), negative, other)


def leaky_relu(b: BlockBuilder, x: SSAValue, slope: float) -> SSAValue:
    """Return x, multiplied by slope where it is negative."""
    return where_negative(b, x, b.binary_number("multiply", x, slope), x)


def elu(b: BlockBuilder, x: SSAValue, alpha: float = 1.0, divisor: float = 1.0) -> SSAValue:
    """Return x, or alpha * (exp(x / divisor) - 1) where x is negative."""
    inner = x if divisor == 1.0 else b.binary_number("divide", x, divisor)
    # For positive x the exponential is unused, and must not overflow to a warning or NaN.
    power = b.unary("exponential_minus_one", clip(b, inner, high=0))
    scaled = power if alpha == 1.0 else b.binary_number("multiply", power, alpha)
    return where_negative(b, x, scaled, x)


def selu(b: BlockBuilder, x: SSAValue, alpha: float, gamma: float) -> SSAValue:
    """Compute gamma * elu(x, alpha)."""
    return b.binary_number("multiply", elu(b, x, alpha), gamma)


def softplus(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|))."""
    small = b.unary("exponential", b.unary("negate", b.unary("abs", x)))
    return b.binary("add", relu(b, x), b.unary("log_plus_one", small))


def softsign(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute x / (1 + |x|)."""
    return b.binary("divide", x, b.binary_number("add", b.unary("abs", x), 1))


def sigmoid(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute 1 / (1 + exp(-x))."""
    return b.unary("logistic", x)


def hard_sigmoid(b: BlockBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    """Compute alpha * x + beta, clamped to [0, 1]."""
    line = b.binary_number("add", b.binary_number("multiply", x, alpha), beta)
    return clip(b, line, 0, 1)


def hard_swish(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute x * max(0, min(1, x / 6 + 1 / 2))."""
    return b.binary("multiply", x, hard_sigmoid(b, x, 1 / 6, 0.5))


def swish(b: BlockBuilder, x: SSAValue, alpha: float = 1.0) -> SSAValue:
    """Compute x * sigmoid(alpha * x)."""
    inner = x if alpha == 1.0 else b.binary_number("multiply", x, alpha)
    return b.binary("multiply", x, sigmoid(b, inner))


def mish(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute x * tanh(softplus(x))."""
    return b.binary("multiply", x, b.unary("tanh", softplus(b, x)))


def gelu(b: BlockBuilder, x: SSAValue, *, tanh: bool = False) -> SSAValue:
    """Compute x * P(X <= x) of a normal X, with erf or the tanh approximation."""
    if tanh:
        cube = b.binary("multiply", b.binary("multiply", x, x), x)
        inner = b.binary("add", x, b.binary_number("multiply", cube, 0.044715))
        part = b.unary("tanh", b.binary_number("multiply", inner, math.sqrt(2 / math.pi)))
    else:
        part = b.unary("erf", b.binary_number("multiply", x, math.sqrt(0.5)))
    half = b.binary_number("multiply", x, 0.5)
    return b.binary("multiply", half, b.binary_number("add", part, 1))


def reciprocal(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute 1 / x."""
    return b.binary("divide", b.fill_like(1, x), x)


def floor_mod(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the remainder with the sign of y (Python's %)."""
    rest = b.binary("remainder", x, y)
    zero = b.fill_like(0, rest)
    differs = b.binary("xor", b.compare(rest, zero, "LT"), b.compare(y, zero, "LT"))
    wrong = b.binary("and", b.compare(rest, zero, "NE"), differs)
    return b.select(wrong, b.binary("add", rest, y), rest)


def is_nan(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Return whether each element is NaN."""
    return b.compare(x, x, "NE")


def atan(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Compute the arc tangent."""
    return b.binary("atan2", x, b.fill_like(1, x))
