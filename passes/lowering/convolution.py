"""convolution: matmuls that accumulate over the filter taps and input features in PSUM.

Features lie on partitions; a tap is a shifted, strided view of the (padded) input, so nothing is
unfolded in memory.
"""

from itertools import product as combinations
from typing import cast

from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.convert import remaining
from neuronir.passes.lowering.demand import inner_tile, ints
from neuronir.passes.lowering.dot import WEIGHT_PIECE_BYTES, column_blocks
from neuronir.passes.lowering.epilogue import find_epilogue
from neuronir.passes.lowering.evict import Evict
from neuronir.passes.lowering.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    merge,
    row_major,
    tile_width,
)
from neuronir.passes.lowering.padding import padded
from neuronir.passes.lowering.state import Lowering, span
from neuronir.passes.lowering.values import Value, slice_value


class Numbers:
    """The dimension numbers of a convolution, with windows as plain tuples."""

    def __init__(self, op: ConvolutionOp) -> None:
        self.strides = ints(op.window_strides)
        pads = ints(op.padding)
        self.low, self.high = pads[0::2], pads[1::2]
        self.lhs_dilation, self.rhs_dilation = ints(op.lhs_dilation), ints(op.rhs_dilation)
        reversal = ints(op.window_reversal)
        self.reversal = tuple(bool(r) for r in reversal)
        self.batch = _int(op.input_batch_dim)
        self.feature = _int(op.input_feature_dim)
        self.spatial = ints(op.input_spatial_dims)
        self.k_in = _int(op.kernel_input_feature_dim)
        self.k_out = _int(op.kernel_output_feature_dim)
        self.k_spatial = ints(op.kernel_spatial_dims)
        self.o_batch = _int(op.output_batch_dim)
        self.o_feature = _int(op.output_feature_dim)
        self.o_spatial = ints(op.output_spatial_dims)
        self.groups = _int(op.feature_group_count)
        self.batch_groups = _int(op.batch_group_count)


def _int(attr: object) -> int:
    return int(cast("object", attr).value.data)  # type: ignore[attr-defined]


def lower_convolution(state: Lowering, op: Operation) -> None:
    """Lower a convolution and what can be fused into its eviction."""
    assert isinstance(op, ConvolutionOp)
    n = Numbers(op)
    if n.groups != 1 or n.batch_groups != 1:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: convolution with {n.groups} feature groups and {n.batch_groups} "
            f"batch groups is not supported on {state.machine.name}",
            help="grouped convolutions are not lowered yet",
        )
    limit = state.machine.partitions
    source, weights = state.value(op.operands[0]), state.value(op.operands[1])
    rank = len(source.shape)
    partition, _ = inner_tile(dim_atoms(source.shape, [n.feature]), limit)
    low, high, interior = [0] * rank, [0] * rank, [0] * rank
    for i, d in enumerate(n.spatial):
        low[d], high[d], interior[d] = n.low[i], n.high[i], n.lhs_dilation[i] - 1
    image = padded(state, source, low, high, interior, 0.0, partition)
    k_image, _ = inner_tile(dim_atoms(image.shape, [n.feature]), limit)
    x = state.converter.ensure(image, k_image)
    epilogue = find_epilogue(state, op.results[0])
    shape = state.shape(op.results[0])
    o_tile, _ = inner_tile(dim_atoms(shape, [n.o_feature]), limit)
    columns = _column_atoms(shape, [n.o_batch, *n.o_spatial])
    out = _allocate(state, shape, o_tile, columns, epilogue.dtype)
    evict = Evict(state, epilogue, out, span(o_tile), columns)
    taps = list(combinations(*(range(weights.shape[d]) for d in n.k_spatial)))
    blocks = column_blocks(columns, state.machine.psum_bank_bytes // 4)
    width = 1
    for a, _ in o_tile:
        width *= a.size
    for piece, o_base in _weight_pieces(weights, n.k_out, width, limit):
        k_weights, _ = inner_tile(dim_atoms(piece.shape, [n.k_in]), limit)
        w = state.converter.ensure(piece, k_weights)
        _piece(state, n, x, image, w, piece, shape, taps, blocks, evict, o_base, width)
    evict.flush()
    state.done.update(epilogue.ops)
    final = state.shape(epilogue.result)
    support = merge(dim_atoms(final, range(len(final))))
    state.set(epilogue.result, Value(final, epilogue.dtype, support, [out]))


def _column_atoms(shape: tuple[int, ...], dims: list[int]) -> list[Atom]:
    strides = row_major(shape)
    return [atom(shape[d], strides[d]) for d in dims if shape[d] > 1]


def _allocate(
    state: Lowering, shape: tuple[int, ...], o_tile: object, columns: list[Atom], dtype: object
) -> Form:
    from neuronir.dialects.nc.enums import DType

    partition = cast("tuple[tuple[Atom, int], ...]", o_tile)
    whole = merge(dim_atoms(shape, range(len(shape))))
    free = remaining(whole, [a for a, _ in partition])
    assert free is not None
    outer = [
        a
        for a in free
        for c in [columns]
        if not any(x.stride < a.end and a.stride < x.end for x in c)
    ]
    rows = span(partition)
    size = 1
    for a in [*outer, *columns]:
        size *= a.size
    buffer = state.emitter.sbuf(rows, size, cast(DType, dtype))
    return Form(buffer, partition, dense([*outer, *columns]))


def _weight_pieces(weights: Value, d: int, width: int, limit: int) -> list[tuple[Value, int]]:
    """The filter by pieces of output features, where it is large; with the first feature of each."""
    total = weights.size * weights.dtype.size // limit
    if total <= WEIGHT_PIECE_BYTES or any(not f.hbm for f in weights.forms):
        return [(weights, 0)]
    count = -(-total // WEIGHT_PIECE_BYTES)
    step = max(width, -(-weights.shape[d] // count) // width * width)
    out: list[tuple[Value, int]] = []
    for low in range(0, weights.shape[d], step):
        starts = [0] * len(weights.shape)
        limits = list(weights.shape)
        starts[d], limits[d] = low, min(low + step, weights.shape[d])
        out.append((slice_value(weights, starts, limits, [1] * len(starts)), low))
    return out


def _piece(
    state: Lowering,
    n: Numbers,
    x: Form,
    image: Value,
    w: Form,
    weights: Value,
    shape: tuple[int, ...],
    taps: list[tuple[int, ...]],
    blocks: list[tuple[int, list[Atom]]],
    evict: Evict,
    o_base: int,
    width: int,
) -> None:
    """The matmuls of one piece of the filter."""
    x_strides, w_strides, o_strides = (
        row_major(image.shape),
        row_major(weights.shape),
        row_major(shape),
    )
    features = image.shape[n.feature]
    k_width = tile_width(features, state.machine.partitions)
    out_features = weights.shape[n.k_out]
    o_unit = w_strides[n.k_out]
    s_stride = w.stride(atom(weights.shape[n.k_out], o_unit)) if out_features > 1 else 1
    steps = {
        o_strides[d]: (n.spatial[i], n.strides[i])
        for i, d in enumerate(n.o_spatial)
        if shape[d] > 1
    }
    x_step = {
        d: x.stride(atom(image.shape[d], x_strides[d])) if image.shape[d] > 1 else 0
        for d in (n.batch, *n.spatial)
    }
    for o_low in range(0, out_features, width):
        rows = min(width, out_features - o_low)
        for c, parts in blocks:
            number = c + (o_base + o_low) * o_strides[n.o_feature]
            size = 1
            dims: list[tuple[int, int]] = []
            for a in parts:
                size *= a.size
                d, stride = _image_dim(a, n, shape, o_strides, steps)
                dims.append(
                    (
                        (x_step[d] or 0) * stride * (a.stride // _base(a, n, shape, o_strides)),
                        a.size,
                    )
                )
            target = evict.reserve(number, rows, size)
            first = True
            for tap in taps:
                place = _position(c, n, shape, o_strides, tap, weights)
                base = sum(p * x_strides[d] for d, p in place.items())
                k_tap = sum(t * w_strides[d] for t, d in zip(tap, n.k_spatial, strict=True))
                for k in range(0, features, k_width):
                    count = min(k_width, features - k)
                    state.emitter.matmul(
                        target,
                        w.at(
                            k_tap + k * w_strides[n.k_in] + o_low * o_unit,
                            count,
                            [(s_stride or 1, rows)],
                        ),
                        x.at(base + k * x_strides[n.feature], count, dims),
                        not first,
                    )
                    first = False
            evict.filled(number, rows, parts)


def _base(a: Atom, n: Numbers, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    for d in (n.o_batch, *n.o_spatial):
        if shape[d] > 1 and strides[d] <= a.stride and a.end <= strides[d] * shape[d]:
            return strides[d]
    raise NeuronError("NIR_LOW003", "a factor of a convolution lies across dimensions")


def _image_dim(
    a: Atom,
    n: Numbers,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    steps: dict[int, tuple[int, int]],
) -> tuple[int, int]:
    """(dimension of the image, window stride) of an atom of the output."""
    base = _base(a, n, shape, strides)
    return steps.get(base, (n.batch, 1))


def _position(
    number: int,
    n: Numbers,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    tap: tuple[int, ...],
    weights: Value,
) -> dict[int, int]:
    """The element of the image that a tap meets at output element `number`, by dimension."""
    place = {n.batch: number // strides[n.o_batch] % shape[n.o_batch]}
    for i, d in enumerate(n.o_spatial):
        position = number // strides[d] % shape[d]
        t = tap[i]
        if n.reversal[i]:
            t = weights.shape[n.k_spatial[i]] - 1 - t
        place[n.spatial[i]] = position * n.strides[i] + t * n.rhs_dilation[i]
    return place
