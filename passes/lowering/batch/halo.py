"""Compute the operand rows that an op needs for some rows of its result.

A window extends beyond a band of rows. The operand's band includes the additional rows (the halo),
and is padded at the edges of the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.data_movement import ConcatenateOp, PadOp
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.hlo.reduction import ReduceWindowOp
from neuronir.passes.lowering.batch.parts import Piece
from neuronir.passes.lowering.layouts.demand import shape_of
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling, spread, tiled_copy, tiled_type


@dataclass(frozen=True)
class Window:
    """How a window moves along the rows of an operand.

    `pair` is the position of its (low, high) in the op's padding.
    """

    operand: int
    dim: int
    pair: int
    taps: int
    stride: int
    dilation: int
    low: int

    def rows(self, first: int, end: int) -> tuple[int, int]:
        """Return the rows of the operand, including padding, for the result's rows [first, end)."""
        reach = (self.taps - 1) * self.dilation + 1
        return first * self.stride - self.low, (end - 1) * self.stride + reach - self.low


def window_of(op: Operation, dim: int) -> Window | None:
    """Return the window that moves along dimension `dim` of a convolution, reduce_window or pad.

    Returns None if there is none, or if it cannot be divided into bands.
    """
    if isinstance(op, ConvolutionOp):
        spatial = ints(op.output_spatial_dims)
        if dim not in spatial or op.operands[0] is op.operands[1]:
            return None
        if int(cast(IntegerAttr, op.batch_group_count).value.data) != 1:
            return None
        i = spatial.index(dim)
        if ints(op.lhs_dilation)[i] != 1:
            return None
        taps = shape_of(op.operands[1])[ints(op.kernel_spatial_dims)[i]]
        low = ints(op.padding)[2 * i]
        stride, dilation = ints(op.window_strides)[i], ints(op.rhs_dilation)[i]
        return Window(0, ints(op.input_spatial_dims)[i], i, taps, stride, dilation, low)
    if isinstance(op, ReduceWindowOp):
        if len(op.operands) != 2 or ints(op.base_dilations)[dim] != 1:
            return None
        taps, stride = ints(op.window_dimensions)[dim], ints(op.window_strides)[dim]
        low = ints(op.padding)[2 * dim]
        return Window(0, dim, dim, taps, stride, ints(op.window_dilations)[dim], low)
    if isinstance(op, PadOp):
        if ints(op.interior_padding)[dim]:
            return None
        return Window(0, dim, dim, 1, 1, 1, ints(op.edge_padding_low)[dim])
    return None


def along(op: Operation, value: SSAValue, dim: int) -> Tiling | None:
    """Return the dimension of each operand and result that corresponds to `dim` of `value`.

    `value` is one of them, and windows are included. Returns None if the op does not preserve the
    dimension.
    """
    result = op.results[0] if len(op.results) == 1 else None
    if isinstance(op, ConcatenateOp):
        if dim == int(op.dimension.value.data):
            return None
        return dict.fromkeys((*op.operands, *op.results), dim)
    if isinstance(op, ConvolutionOp):
        if value is op.operands[0] and dim in ints(op.input_spatial_dims):
            dim = ints(op.output_spatial_dims)[ints(op.input_spatial_dims).index(dim)]
        elif value is not result:
            return spread(op, value, dim)
    elif value is not result and value is not op.operands[0]:
        return spread(op, value, dim)
    window = window_of(op, dim) if isinstance(op, (ConvolutionOp, ReduceWindowOp, PadOp)) else None
    if window is None or result is None:
        return spread(op, value, dim)
    return {**dict.fromkeys(op.operands, WHOLE), op.operands[0]: window.dim, result: dim}


def needed(op: Operation, dim: int, first: int, end: int) -> dict[SSAValue, Piece] | None:
    """Return the parts of the operands that an op needs for rows [first, end) of dimension `dim` of
    its result.

    Operands needed whole are omitted. Returns None if the op cannot be computed this way.
    """
    window = window_of(op, dim)
    if window is not None:
        image = op.operands[window.operand]
        low, high = window.rows(first, end)
        low, high = max(low, 0), min(high, shape_of(image)[window.dim])
        return {image: (window.dim, low, high)} if low < high else None
    tiling = along(op, op.results[0], dim)
    if tiling is None:
        return None
    extent = shape_of(op.results[0])[dim]
    found: dict[SSAValue, Piece] = {}
    for v in op.operands:
        d = tiling.get(v, WHOLE)
        if d != WHOLE:
            if shape_of(v)[d] != extent:
                return None
            found[v] = (d, first, end)
    return found


def banded_copy(
    op: Operation, dim: int, first: int, end: int, mapping: Mapping[SSAValue, SSAValue]
) -> Operation:
    """Copy `op` for rows [first, end) of its result, on operands sliced as in `needed`."""
    rows = end - first
    window = window_of(op, dim)
    if window is None:
        tiling = along(op, op.results[0], dim)
        assert tiling is not None
        return tiled_copy(op, tiling, rows, dict(mapping))
    copy = op.clone(dict(mapping))
    copy.location = op.location
    copy.results[0]._type = tiled_type(op.results[0], dim, rows)
    low, high = window.rows(first, end)
    extent = shape_of(op.operands[window.operand])[window.dim]
    edges = (max(0, -low), max(0, high - extent))
    if isinstance(op, PadOp):
        for name, edge in zip(("edge_padding_low", "edge_padding_high"), edges, strict=True):
            _set(copy, name, window.pair, edge)
    else:
        for k, edge in enumerate(edges):
            _set(copy, "padding", 2 * window.pair + k, edge)
    return copy


def _set(op: Operation, name: str, place: int, number: int) -> None:
    numbers = list(cast("Sequence[int]", ints(cast(DenseArrayBase, op.properties[name]))))
    numbers[place] = number
    op.properties[name] = DenseArrayBase.from_list(i64, numbers)
