"""Sample at data-dependent positions: gather and weight the neighbours."""

from collections.abc import Sequence
from itertools import product

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.activations import clip
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.indexing import take
from neuronir.passes.hlo.support.values import element, shape

PADDING = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The coefficient of cubic interpolation in ONNX's and PyTorch's GridSample."""


def sample(
    b: BlockBuilder,
    value: SSAValue,
    places: Sequence[SSAValue],
    mode: str,
    padding: str,
    *,
    corners: bool,
) -> SSAValue:
    """Sample value (N, C, spatial...) at f32 positions; returns (N, C, points).

    `positions` has one tensor (N, points) for each spatial dimension, in elements. `mode` is
    nearest, linear or cubic. Elements beyond the edges are `zeros`, the `border`, or a
    `reflection`: about the centres of the edge elements with `corners`, else about their outer
    edges.
    """
    if mode not in ("nearest", "linear", "cubic") or padding not in PADDING:
        refuse(f"mode '{mode}' with padding '{padding}' is not known")
    batch, channels, *spatial = shape(value)
    count = shape(places[0])[1]
    if mode != "cubic" and padding != "zeros":
        places = [_inside(b, p, n, padding, corners) for p, n in zip(places, spatial, strict=True)]
    taps = [_taps(b, p, mode) for p in places]
    elements = 1
    for n in spatial:
        elements *= n
    flat = b.transpose(b.reshape(value, (batch, channels, elements)), [0, 2, 1])
    total: SSAValue | None = None
    for chosen in product(*taps):
        weight: SSAValue | None = None
        number: SSAValue | None = None
        for (at, share), n in zip(chosen, spatial, strict=True):
            if padding != "zeros":
                at = _inside(b, at, n, padding, corners)
            else:
                within = b.binary(
                    "and", b.compare_number(at, 0, "GE"), b.compare_number(at, n - 1, "LE")
                )
                share = b.select(within, share, b.fill_like(0, share))
            at = b.convert(clip(b, at, 0, n - 1), i32)
            weight = share if weight is None else b.binary("multiply", weight, share)
            number = (
                at
                if number is None
                else b.binary("add", b.binary_number("multiply", number, n), at)
            )
        assert weight is not None and number is not None
        found = take(b, flat, number, 1, batch=1)
        own = b.convert(weight, element(value))
        part = b.binary("multiply", found, along(b, own, (batch, count, channels), 0, 1))
        total = part if total is None else b.binary("add", total, part)
    assert total is not None
    return b.transpose(total, [0, 2, 1])


def _taps(b: BlockBuilder, place: SSAValue, mode: str) -> list[tuple[SSAValue, SSAValue]]:
    """Return the neighbours of a position along one dimension (whole f32 values) and their
    weights.
    """
    if mode == "nearest":
        near = b.unary("round_nearest_even", place)
        return [(near, b.fill_like(1, place))]
    low = b.unary("floor", place)
    part = b.binary("subtract", place, low)
    if mode == "linear":
        rest = b.binary("subtract", b.fill_like(1, part), part)
        return [(low, rest), (b.binary_number("add", low, 1), part)]
    found = []
    for k in range(-1, 3):
        distance = b.unary("abs", b.binary_number("subtract", part, k))
        found.append((b.binary_number("add", low, k), _cubic(b, distance, abs(k * 2 - 1) > 1)))
    return found


def _cubic(b: BlockBuilder, x: SSAValue, far: bool) -> SSAValue:
    """Evaluate Keys' kernel at a distance in 0 to 1, or in 1 to 2 with `far`."""
    factors = (
        (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC) if far else (CUBIC + 2, -CUBIC - 3, 0.0, 1.0)
    )
    result = b.fill_like(factors[0], x)
    for factor in factors[1:]:
        result = b.binary_number("add", b.binary("multiply", result, x), factor)
    return result


def _inside(b: BlockBuilder, place: SSAValue, size: int, padding: str, corners: bool) -> SSAValue:
    """Move a position into a dimension by clamping or reflection."""
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        span = high - low
        if span == 0:
            return b.fill_like(0, place)
        away = b.unary("abs", b.binary_number("subtract", place, low))
        turns = b.unary("floor", b.binary_number("divide", away, span))
        rest = b.binary("subtract", away, b.binary_number("multiply", turns, span))
        odd = b.compare_number(b.binary_number("remainder", turns, 2), 1, "EQ")
        forth = b.binary_number("add", rest, low)
        back = b.binary("subtract", b.fill_like(high, rest), rest)
        place = b.select(odd, back, forth)
    return clip(b, place, 0, size - 1)


def in_elements(b: BlockBuilder, grid: SSAValue, size: int, *, corners: bool) -> SSAValue:
    """Convert positions in -1 to 1 to elements, in f32.

    The ends are the centres of the edge elements with `corners`, else their outer edges.
    """
    grid = b.convert(grid, f32)
    if corners:
        return b.binary_number("multiply", b.binary_number("add", grid, 1), (size - 1) / 2)
    scaled = b.binary_number("multiply", b.binary_number("add", grid, 1), size)
    return b.binary_number("multiply", b.binary_number("subtract", scaled, 1), 0.5)
