"""Move rows of the image and of the result of a convolution to its features, if these are few."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, prod

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
GAIN = 0.8
"""Limit of the time on the tensor engine, relative to that without blocks."""
JOINED = 0.6
"""Limit of that time with joined taps, relative to blocks alone: the image is copied for each tap
(24 to 48 features, 112 x 112: 2 streams take 66 us, 3 without copies 35 us)."""
LEAST_COLUMNS = 64
"""A matmul of fewer columns takes as long (`matmul_min_cycles`)."""
KERNEL = 3.0
"""Cycles of the tensor engine in which an element of each partition of a new kernel is made: it is
cleared and copied by engines of 0.96 to 1.4 GHz."""


@dataclass(frozen=True)
class Block:
    """`results` positions of the result along spatial dimension `along` become features, and so do
    `unit` positions of the image.

    `streams` are the passes of all positions of the result through the tensor engine, and `made`
    those that would fill the time in which the kernel is made.
    """

    streams: float
    made: float
    along: int
    unit: int
    results: int

    def taps(self, taps: int, stride: int) -> int:
        """Return the units that the window of a block covers."""
        return -(-(taps + (self.results - 1) * stride) // self.unit)


@dataclass(frozen=True)
class Window:
    """A convolution without padding: taps, strides, dilations and results by spatial dimension."""

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    places: tuple[int, ...]
    inside: int
    outside: int
    images: int = 1

    def streams(self) -> float:
        """Return the passes of the result's positions through the tensor engine."""
        return prod(self.taps) * -(-self.inside // ROWS) * -(-self.outside // ROWS)

    def blocks(self) -> Iterator[Block]:
        """Yield the possible blocks."""
        whole = self.images * prod(self.places)
        for i, (k, s) in enumerate(zip(self.taps, self.strides, strict=True)):
            if k == 1 or self.dilation[i] != 1:
                continue
            for j in range(2, min(MOST_BLOCK, self.places[i]) + 1):
                columns = max(whole / j, LEAST_COLUMNS) / whole
                for unit in (u for u in range(1, j * s + 1) if j * s % u == 0):
                    if unit > 1 and unit * self.inside > ROWS:
                        continue
                    block = Block(0.0, 0.0, i, unit, j)
                    taps = prod(self.taps) // k * block.taps(k, s) * -(-unit * self.inside // ROWS)
                    streams = taps * -(-j * self.outside // ROWS) * columns
                    made = KERNEL * taps * j * self.outside / whole
                    yield replace(block, streams=streams, made=made)

    def fastest(self) -> Block | None:
        """Return the block with the fewest streams."""
        blocks = self.blocks()
        return min(blocks, default=None, key=lambda b: (b.streams, -b.along, b.unit, b.results))

    def best(self) -> Block | None:
        """Return the fastest block, if it takes clearly less time than none, with its kernel."""
        found, most = self.fastest(), GAIN * self.streams()
        return found if found is not None and found.streams + found.made <= most else None


def joins(window: Window, along: int) -> bool:
    """Return whether joining the taps along a dimension saves clearly more than a block of
    positions.
    """
    taps = list(window.taps)
    taps[along] = 1
    joined = replace(window, taps=tuple(taps), inside=window.inside * window.taps[along])
    mine, other = window.fastest(), joined.fastest()
    if mine is None or mine.streams > GAIN * window.streams():
        return True
    return min(joined.streams(), other.streams if other else inf) < JOINED * mine.streams


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
        out[n.o_batch],
    )


def space_to_depth(op: ConvolutionOp) -> SSAValue:
    """Turn blocks of rows of a convolution without padding into features, such as pairs:

        %r = hlo.convolution %x, %w            %b = %x, its rows in pairs as features
          3x3, 64 to 64 features         ->    %c = hlo.convolution %b, %k
                                                 2x3, 128 to 128 features, half as many rows
                                               %r = %c, its features as pairs of rows

    The kernel is zero for rows of the image that a row of the result does not read. Rows of the
    image with many features stay, and the kernel has a stride of a block of results instead.
    """
    n = numbers_of_op(op)
    found = window_of(op, n).best() if n.groups == 1 else None
    if found is None:
        return op.result
    i, block, unit = found.along, found.results, found.unit
    build = Emitter(op)
    out = shape_of(op.result)
    rows, d = -(-out[n.o_spatial[i]] // block), n.o_spatial[i]
    taps = found.taps(shape_of(op.rhs)[n.k_spatial[i]], n.strides[i])
    stride = block * n.strides[i] // unit
    image = _blocked_image(build, op.lhs, n, i, unit, (rows - 1) * stride + taps)
    kernel = _blocked_kernel(build, op.rhs, n, i, found, taps)
    sizes = list(out)
    sizes[d], sizes[n.o_feature] = rows, block * out[n.o_feature]
    strides = [stride if k == i else s for k, s in enumerate(n.strides)]
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
    if unit == 1:
        return x
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
    build: Emitter, kernel: SSAValue, n: Numbers, i: int, block: Block, taps: int
) -> SSAValue:
    """Shift the kernel for each position in a block of the result, and block its taps."""
    k, s, rank = n.k_spatial[i], n.strides[i], len(shape_of(kernel))
    unit = block.unit
    spare = taps * unit - shape_of(kernel)[k]
    parts: list[SSAValue] = []
    for p in range(block.results):
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
