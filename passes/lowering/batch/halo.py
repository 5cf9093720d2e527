"""Compute the operand rows that an op needs for some rows of its result.

A window extends beyond a band of rows. The operand's band includes the additional rows (the halo),
and is padded at the edges of the whole.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.data_movement import ConcatenateOp, PadOp
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.hlo.reduction import ReduceWindowOp
from neuronir.dialects.tile.interface import Window, tiling_of
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.parts import Piece
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling, spread, tiled_copy, tiled_type

_WINDOWED = (ConvolutionOp, ReduceWindowOp, PadOp)
Rows = tuple[int, Window]
"""A windowed dimension of an op's first operand, with the window that moves along it."""


def window_of(op: Operation, dim: int) -> Rows | None:
    """Return the window that moves along dimension `dim` of a convolution, reduce_window or pad.

    Returns None if there is none, or if it cannot be divided into bands.
    """
    declared = tiling_of(op) if isinstance(op, _WINDOWED) else None
    if declared is None or op.operands[0] is op.operands[1]:
        return None
    for d, need in enumerate(declared.operands[0]):
        if isinstance(need, Window) and need.dim == dim:
            return d, need
    return None


def _rows(window: Window, first: int, end: int) -> tuple[int, int]:
    """Return the rows of the operand, including padding, for the result's rows [first, end)."""
    return first * window.stride + window.first, (end - 1) * window.stride + window.last + 1


def along(op: Operation, value: SSAValue, dim: int) -> Tiling | None:
    """Return the dimension of each operand and result that corresponds to `dim` of `value`.

    `value` is one of them, and windows are included. Returns None if the op does not preserve the
    dimension.
    """
    if isinstance(op, ConcatenateOp):
        if dim == int(op.dimension.value.data):
            return None
        return dict.fromkeys((*op.operands, *op.results), dim)
    if isinstance(op, _WINDOWED):
        for d in range(len(shape_of(op.results[0]))):
            found = window_of(op, d)
            ends = {op.results[0]: d, op.operands[0]: -1 if found is None else found[0]}
            if found is not None and ends.get(value) == dim:
                return {**dict.fromkeys(op.operands, WHOLE), **ends}
    return spread(op, value, dim)


def needed(op: Operation, dim: int, first: int, end: int) -> dict[SSAValue, Piece] | None:
    """Return the parts of the operands that an op needs for rows [first, end) of dimension `dim` of
    its result.

    Operands needed whole are omitted. Returns None if the op cannot be computed this way.
    """
    window = window_of(op, dim)
    if window is not None:
        image, (d, how) = op.operands[0], window
        low, high = _rows(how, first, end)
        low, high = max(low, 0), min(high, shape_of(image)[d])
        return {image: (d, low, high)} if low < high else None
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
    d, how = window
    low, high = _rows(how, first, end)
    edges = (max(0, -low), max(0, high - shape_of(op.operands[0])[d]))
    if isinstance(op, PadOp):
        for name, edge in zip(("edge_padding_low", "edge_padding_high"), edges, strict=True):
            _set(copy, name, d, edge)
    else:
        place = ints(op.input_spatial_dims).index(d) if isinstance(op, ConvolutionOp) else d
        for k, edge in enumerate(edges):
            _set(copy, "padding", 2 * place + k, edge)
    return copy


def _set(op: Operation, name: str, place: int, number: int) -> None:
    numbers = list(cast("Sequence[int]", ints(cast(DenseArrayBase, op.properties[name]))))
    numbers[place] = number
    op.properties[name] = DenseArrayBase.from_list(i64, numbers)
