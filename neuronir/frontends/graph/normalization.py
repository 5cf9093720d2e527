"""Build normalisations: softmax, and over a layer, a batch, an instance or channels."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.graph.broadcasting import along, broadcast_to
from neuronir.frontends.graph.reductions import (
    mean,
    reduce,
    total,
    variance,
    window_properties,
)
from neuronir.passes.hlo.support.build import binary_region
from neuronir.passes.hlo.support.values import element, shape


def _shifted(b: BlockBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """Compute value - max(value)."""
    peak = reduce(b, value, "maximum", dims, keep=True)
    return b.binary("subtract", value, broadcast_to(b, peak, shape(value)))


def softmax(b: BlockBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """Compute exp(x - max) / sum(exp(x - max)) over dimensions."""
    powers = b.unary("exponential", _shifted(b, value, dims))
    sums = total(b, powers, dims, keep=True)
    return b.binary("divide", powers, broadcast_to(b, sums, shape(value)))


def log_softmax(b: BlockBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """Compute x - max - log(sum(exp(x - max))) over dimensions."""
    shifted = _shifted(b, value, dims)
    sums = total(b, b.unary("exponential", shifted), dims, keep=True)
    return b.binary("subtract", shifted, broadcast_to(b, b.unary("log", sums), shape(value)))


def standardise(
    b: BlockBuilder, value: SSAValue, dims: Sequence[int], epsilon: float
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Compute ((x - mean) / sqrt(variance + epsilon), mean, 1 / sqrt(variance + epsilon)).

    The statistics keep the reduced dimensions with size 1.
    """
    average = mean(b, value, dims, keep=True)
    centred = b.binary("subtract", value, broadcast_to(b, average, shape(value)))
    spread = mean(b, b.binary("multiply", centred, centred), dims, keep=True)
    inverse = b.unary("rsqrt", b.binary_number("add", spread, epsilon))
    result = b.binary("multiply", centred, broadcast_to(b, inverse, shape(value)))
    return result, average, inverse


def rms(b: BlockBuilder, value: SSAValue, dims: Sequence[int], epsilon: float) -> SSAValue:
    """Compute x / sqrt(mean(x^2) + epsilon) over dimensions."""
    squares = mean(b, b.binary("multiply", value, value), dims, keep=True)
    inverse = b.unary("rsqrt", b.binary_number("add", squares, epsilon))
    return b.binary("multiply", value, broadcast_to(b, inverse, shape(value)))


def affine(
    b: BlockBuilder, value: SSAValue, scale: SSAValue | None, offset: SSAValue | None
) -> SSAValue:
    """Compute value * scale + offset, which broadcast to value."""
    if scale is not None:
        value = b.binary("multiply", value, broadcast_to(b, scale, shape(value)))
    if offset is not None:
        value = b.binary("add", value, broadcast_to(b, offset, shape(value)))
    return value


def batch_norm(
    b: BlockBuilder,
    value: SSAValue,
    scale: SSAValue,
    offset: SSAValue,
    average: SSAValue,
    spread: SSAValue,
    epsilon: float,
    feature: int,
) -> SSAValue:
    """Compute (x - mean) / sqrt(variance + epsilon) * scale + offset, with one element per feature.

    The form is x * factor + shift, where factor and shift have one element per feature, so that the
    part that does not depend on data is folded.
    """
    inverse = b.unary("rsqrt", b.binary_number("add", spread, epsilon))
    factor = b.binary("multiply", scale, inverse)
    shift = b.binary("subtract", offset, b.binary("multiply", average, factor))
    dims = shape(value)
    scaled = b.binary("multiply", value, along(b, factor, dims, feature))
    return b.binary("add", scaled, along(b, shift, dims, feature))


def batch_statistics(b: BlockBuilder, value: SSAValue, feature: int) -> tuple[SSAValue, SSAValue]:
    """Compute the mean and the (biased) variance of each feature, over all other dimensions."""
    dims = [d for d in range(len(shape(value))) if d != feature]
    return mean(b, value, dims), variance(b, value, dims)


def local_response(
    b: BlockBuilder,
    value: SSAValue,
    feature: int,
    window: int,
    *,
    alpha: float,
    beta: float,
    bias: float,
) -> SSAValue:
    """Compute x / (bias + alpha * sum of squares of `window` neighbouring features)^beta.

    If the window is even, it has one more feature above (ONNX: floor((n-1)/2) below, ceil((n-1)/2)
    above).
    """
    rank = len(shape(value))
    sizes, padding = [1] * rank, [0] * (2 * rank)
    sizes[feature] = window
    padding[2 * feature : 2 * feature + 2] = [(window - 1) // 2, window // 2]
    squares = b.binary("multiply", value, value)
    sums = b.op(
        "reduce_window",
        [squares, b.scalar(0, element(value))],
        [binary_region("add", element(value))],
        **window_properties(sizes, padding),
    )
    base = b.binary_number("add", b.binary_number("multiply", sums, alpha), bias)
    return b.binary("divide", value, b.binary_number("power", base, beta))
