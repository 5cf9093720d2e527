"""Move rows of the image and of the result of a convolution to its features, if these are few."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.data_movement import PadOp
from neuronir.dialects.hlo.flops import pass_flops
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, is_splat_of
from neuronir.passes.lowering.convolution.numbers import Numbers, numbers_of_op

ROWS = 128
"""Rows and columns of the tensor engine."""
MOST_BLOCK = 8
"""Limit of the result positions in a block."""
EDGES = ("low", "high")
GAIN = 0.75
"""Limit of the time on the tensor engine, relative to that without blocks."""


@dataclass(frozen=True)
class Window:
    """A convolution without padding: taps, strides, dilations and results by spatial dimension."""

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    places: tuple[int, ...]
    inside: int
    outside: int

    def streams(self) -> float:
        """Return the passes of the result's positions through the tensor engine."""
        return prod(self.taps) * -(-self.inside // ROWS) * -(-self.outside // ROWS)

    def blocks(self) -> Iterator[tuple[float, int, int]]:
        """Yield streams, dimension and positions of the result of each possible block."""
        for i, (k, s) in enumerate(zip(self.taps, self.strides, strict=True)):
            if k == 1 or self.dilation[i] != 1:
                continue
            for j in range(2, min(MOST_BLOCK, self.places[i]) + 1):
                if j * s * self.inside > ROWS:
                    break
                columns = -(-j * self.outside // ROWS)
                yield prod(self.taps) // k * block_taps(k, s, j) * columns / j, i, j

    def best(self) -> tuple[float, int, int] | None:
        """Return the block with the fewest streams, if these are clearly fewer than without."""
        found = min(self.blocks(), default=None, key=lambda b: (b[0], -b[1], b[2]))
        return found if found is not None and found[0] <= GAIN * self.streams() else None


def joins(window: Window, along: int) -> bool:
    """Return whether joining the taps along a dimension saves more than a block of positions."""
    taps = list(window.taps)
    taps[along] = 1
    joined = replace(window, taps=tuple(taps), inside=window.inside * window.taps[along])
    mine, other = window.best(), joined.best()
    return mine is None or (other[0] if other else joined.streams()) < mine[0]


def block_taps(taps: int, stride: int, block: int) -> int:
    """Return the blocks of `block * stride` positions that `block` results read."""
    return -(-(taps + (block - 1) * stride) // (block * stride))


def window_of(op: ConvolutionOp, n: Numbers) -> Window:
    """Return the window of a convolution."""
    kernel, out = shape_of(op.rhs), shape_of(op.result)
    return Window(
        tuple(kernel[d] for d in n.k_spatial),
        n.strides,
        n.rhs_dilation,
        tuple(out[d] for d in n.o_spatial),
        kernel[n.k_in],
        kernel[n.k_out],
    )


def space_to_depth(op: ConvolutionOp) -> SSAValue:
    """Turn blocks of rows of a convolution without padding into features:

        %r = hlo.convolution %x, %w            %b = %x, its rows in pairs as features
          3x3, 64 to 64 features         ->    %c = hlo.convolution %b, %k
                                                 2x3, 128 to 128 features, half as many rows
                                               %r = %c, its features as pairs of rows

    The kernel is zero for rows of the image that a row of the result does not read.
    """
    n = numbers_of_op(op)
    found = window_of(op, n).best() if n.groups == 1 else None
    if found is None:
        return op.result
    _, i, block = found
    build = Emitter(op)
    out = shape_of(op.result)
    rows, d = -(-out[n.o_spatial[i]] // block), n.o_spatial[i]
    taps = block_taps(shape_of(op.rhs)[n.k_spatial[i]], n.strides[i], block)
    unit = block * n.strides[i]
    image = _blocked_image(build, op.lhs, n, i, unit, rows + taps - 1)
    kernel = _blocked_kernel(build, op.rhs, n, i, block, taps)
    sizes = list(out)
    sizes[d], sizes[n.o_feature] = rows, block * out[n.o_feature]
    strides = [1 if k == i else s for k, s in enumerate(n.strides)]
    result = build.emit(
        "convolution",
        [image, kernel],
        TensorType(element(op.result), sizes),
        {**op.properties, "window_strides": i64_array(strides)},
    )
    pass_flops(op, build.created[-1])
    result = _apart(build, result, n.o_feature, d, block)
    starts = [0] * len(out)
    return build.slice(result, starts, list(out))


def _blocked_image(
    build: Emitter, image: SSAValue, n: Numbers, i: int, unit: int, blocks: int
) -> SSAValue:
    """Move positions of each of `blocks` blocks along a spatial dimension to the features.

    Other dimensions are padded later: their positions lie on partitions when features move there.
    """
    d, rank = n.spatial[i], len(shape_of(image))
    low, high = [0] * rank, [0] * rank
    pad = image.owner
    plain = isinstance(pad, PadOp) and not any(ints(pad, "interior_padding"))
    if isinstance(pad, PadOp) and plain and is_splat_of(pad.operands[1], 0):
        image, low, high = pad.operands[0], *(list(ints(pad, f"edge_padding_{e}")) for e in EDGES)
    before, after = [0] * rank, [0] * rank
    before[d], after[d] = low[d], blocks * unit - shape_of(image)[d] - low[d]
    low[d] = high[d] = 0
    zero = build.scalar(0, element(image))
    image = _together(build, build.pad(image, zero, before, after), d, n.feature, unit)
    return build.pad(image, zero, low, high)


def _together(build: Emitter, x: SSAValue, d: int, feature: int, unit: int) -> SSAValue:
    """Make positions of dimension d in blocks of `unit` the outer digit of the features."""
    sizes = list(shape_of(x))
    order = list(range(len(sizes)))
    split = [*sizes[:d], sizes[d] // unit, unit, *sizes[d + 1 :]]
    order = [k if k <= d else k + 1 for k in order]
    order.insert(feature, d + 1)
    sizes[d] //= unit
    sizes[feature] *= unit
    return build.reshape(build.transpose(build.reshape(x, split), order), sizes)


def _apart(build: Emitter, x: SSAValue, feature: int, d: int, block: int) -> SSAValue:
    """Undo `_together`."""
    sizes = list(shape_of(x))
    split = [*sizes[:feature], block, sizes[feature] // block, *sizes[feature + 1 :]]
    order = [k if k < feature else k + 1 for k in range(len(sizes))]
    order.insert(d + 1, feature)
    sizes[feature] //= block
    sizes[d] *= block
    return build.reshape(build.transpose(build.reshape(x, split), order), sizes)


def _blocked_kernel(
    build: Emitter, kernel: SSAValue, n: Numbers, i: int, block: int, taps: int
) -> SSAValue:
    """Shift the kernel for each position in a block of the result, and block its taps."""
    k, s, rank = n.k_spatial[i], n.strides[i], len(shape_of(kernel))
    unit = block * s
    spare = taps * unit - shape_of(kernel)[k]
    parts: list[SSAValue] = []
    for p in range(block):
        low, high = [0] * rank, [0] * rank
        low[k], high[k] = p * s, spare - p * s
        if n.reversal[i]:
            low[k], high[k] = high[k], low[k]
        parts.append(build.pad(kernel, build.scalar(0, element(kernel)), low, high))
    whole = build.concatenate(parts, n.k_out)
    if n.reversal[i]:  # positions in a block are not reversed
        whole = build.reverse(whole, [k])
        whole = _together(build, whole, k, n.k_in, unit)
        return build.reverse(whole, [k])
    return _together(build, whole, k, n.k_in, unit)
