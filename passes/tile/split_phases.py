"""Split a convolution of a dilated image into convolutions of the image, one for each phase."""

from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.lowering.convolution.numbers import Numbers

MOST_PHASES = 16
"""Limit of convolutions that one becomes."""


def has_phases(n: Numbers) -> bool:
    """Return whether an image is dilated, and its windows have stride and dilation 1 along the
    dilated dimensions.
    """
    dilated = [i for i, gap in enumerate(n.lhs_dilation) if gap > 1]
    plain = all(n.strides[i] == 1 and n.rhs_dilation[i] == 1 for i in dilated)
    return bool(dilated) and plain and prod(n.lhs_dilation) <= MOST_PHASES


def split_phases(build: Emitter, op: ConvolutionOp, n: Numbers) -> tuple[SSAValue, list[Operation]]:
    """Compute every `gap`-th result position by a convolution of its own, without the zeros:

        %r = hlo.convolution %x, %w           %a = hlo.convolution %x, %w[0::2]
          lhs_dilation 2, 4 taps        ->    %b = hlo.convolution %x, %w[1::2]
                                              %r = %a and %b, interleaved

    Returns:
        The result, and the new convolutions.
    """
    out, rank = shape_of(op.result), len(shape_of(op.result))
    counts = list(out)
    for i, d in enumerate(n.o_spatial):
        counts[d] = -(-out[d] // n.lhs_dilation[i])
    made: list[Operation] = []
    parts: list[SSAValue] = []
    for phase in product(*(range(gap) for gap in n.lhs_dilation)):
        found = _phase(build, op, n, phase, counts)
        if isinstance(found.owner, ConvolutionOp):
            made.append(found.owner)
        parts.append(build.reshape(found, [1, *counts]))
    gaps = list(n.lhs_dilation)
    whole = build.reshape(build.concatenate(parts, 0), [*gaps, *counts])
    order: list[int] = []
    for d in range(rank):
        order.append(len(gaps) + d)
        if d in n.o_spatial:
            order.append(n.o_spatial.index(d))
    sizes = list(counts)
    for i, d in enumerate(n.o_spatial):
        sizes[d] *= gaps[i]
    whole = build.reshape(build.transpose(whole, order), sizes)
    return build.slice(whole, [0] * rank, list(out)), made


def _phase(
    build: Emitter, op: ConvolutionOp, n: Numbers, phase: tuple[int, ...], counts: list[int]
) -> SSAValue:
    """Compute the result positions `phase`, `phase` + gap, ...; zeros if no tap meets the
    image.
    """
    image, kernel = shape_of(op.lhs), shape_of(op.rhs)
    starts, limits, steps = [0] * len(kernel), list(kernel), [1] * len(kernel)
    padding: list[int] = []
    for i, (gap, k) in enumerate(zip(n.lhs_dilation, n.k_spatial, strict=True)):
        if gap == 1:
            padding += [n.low[i], n.high[i]]
            continue
        first = (n.low[i] - phase[i]) % gap
        taps = -(-(kernel[k] - first) // gap)
        if taps <= 0:
            return build.fill(0, TensorType(element(op.result), counts))
        begin = (phase[i] + first - n.low[i]) // gap
        end = begin + counts[n.o_spatial[i]] + taps - 1
        if begin >= image[n.spatial[i]] or end <= 0:
            return build.fill(0, TensorType(element(op.result), counts))
        padding += [-begin, end - image[n.spatial[i]]]
        last = first + (taps - 1) * gap
        starts[k] = kernel[k] - 1 - last if n.reversal[i] else first
        limits[k], steps[k] = starts[k] + (taps - 1) * gap + 1, gap
    weights = build.slice(op.rhs, starts, limits, steps)
    properties = {
        **op.properties,
        "padding": i64_array(padding),
        "lhs_dilation": i64_array([1] * len(n.spatial)),
    }
    return build.emit(
        "convolution", [op.lhs, weights], TensorType(element(op.result), counts), properties
    )
