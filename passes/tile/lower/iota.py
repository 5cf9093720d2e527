"""Lower iotas with POOL, or as constants on machines without it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.layouts.layout import Atom, Form, row_major, split_at
from neuronir.passes.lowering.rules.elementwise import (
    engine_for,
)
from neuronir.passes.tile.lower.state import Lower, register_lowering


@register_lowering("hlo.iota")
def lower_iota(state: Lower, op: Operation) -> None:
    """Fill a result with counts along a dimension."""

    result = op.results[0]
    out = state.allocate(result)
    shape, d = shape_of(result), integer(op, "iota_dimension")
    stride, n = row_major(shape)[d], shape[d]
    edges = {stride, stride * n}

    def step(a: Atom) -> int:
        inside = stride <= a.stride and a.end <= stride * n
        return a.stride // stride if inside else 0

    dims: list[tuple[Atom, int]] = []
    for whole, s in out.free:
        for a in split_at(whole, edges) or (whole,):
            dims.append((a, s * (a.stride // whole.stride)))
    rows = [
        (b, s * (b.stride // a.stride))
        for a, s in out.partition
        for b in split_at(a, edges) or (a,)
    ]
    moving = [(step(a), s) for a, s in rows if step(a)]
    affine = len(moving) == 1 and moving[0][1] == 1 and len(rows) == 1
    multiplier = moving[0][0] if affine else 0
    view = out.at(0, out.partitions, [(s, a.size) for a, s in dims])
    if not state.machine.has_pool:
        _copy_table(state, view, [(step(a), a.size) for a, _ in dims], _column(out, rows, step))
        state.set(result, out)
        return
    params: dict[str, int | float] = {"base": 0, "channel_multiplier": multiplier}
    for i, (a, _) in enumerate(dims):
        params[f"step{i}"] = step(a)
    state.emitter.emit("iota", [view], [], params, Engine.POOL)
    if moving and not affine:
        column = _column(out, rows, step).astype(state.dtype(result).numpy)
        _add_rows(state, out, view, column, state.dtype(result))
    state.set(result, out)


def _column(out: Form, rows: Sequence[tuple[Atom, int]], step: Callable[[Atom], int]) -> np.ndarray:
    """Return the contribution of the partition digits to each partition."""
    p = np.arange(out.partitions)
    column = np.zeros(out.partitions, np.int64)
    for a, apart in rows:
        column += p // apart % a.size * step(a)
    return column


def _copy_table(
    state: Lower, view: View, dims: Sequence[tuple[int, int]], column: np.ndarray
) -> None:
    """Fill a view from a constant, which has each number of a partition once."""
    free, table = [], column[:, None]
    for each, n in dims:
        table = table[:, :, None] + np.arange(n if each else 1) * each
        table = table.reshape(len(column), -1)
    stride = table.shape[1]
    for each, n in dims:
        stride //= n if each else 1
        free.append((stride if each else 0, n))
    dtype = view_dtype(view)
    buffer, offset = state.constants.place(table.astype(dtype.numpy), dtype)
    source = View(buffer, 0, len(column), tuple(free), offset, (), 0, dtype.name.lower())
    state.emitter.copy(view, source)


def _add_rows(state: Lower, out: Form, view: View, column: np.ndarray, dtype: DType) -> None:
    """Add a number to each partition."""
    name = f"rows.{dtype.name}.{sha256(column.tobytes()).hexdigest()[:16]}"
    buffer, offset = state.constants.keep(name, column[:, None], dtype)
    number = View(buffer, 0, out.partitions, ((1, 1),), offset, (), 0, dtype.name.lower())
    engine = engine_for(AluOp.ADD, dtype, state.machine.has_pool)
    if dtype is DType.F32:
        state.emitter.tensor_scalar(view, view, AluOp.ADD, number, engine=engine)
    else:
        wide = replace(number, free=tuple((0, n) for _, n in view.free))
        state.emitter.tensor_tensor(AluOp.ADD, view, view, wide, engine)
