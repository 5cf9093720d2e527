"""Lower iotas with POOL."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom, Form
from neuronir.passes.lowering.rules.elementwise import (
    engine_for,
)
from neuronir.passes.tile.lower.state import Lower, register_lowering


@register_lowering("hlo.iota")
def lower_iota(state: Lower, op: Operation) -> None:
    """Fill a result with counts along a dimension."""
    from neuronir.passes.hlo.support.values import integer
    from neuronir.passes.lowering.layouts.layout import row_major, split_at

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
    params: dict[str, int | float] = {"base": 0, "channel_multiplier": multiplier}
    for i, (a, _) in enumerate(dims):
        params[f"step{i}"] = step(a)
    state.emitter.emit("iota", [view], [], params, Engine.POOL)
    if moving and not affine:
        _add_rows(state, out, view, [(a, s, step(a)) for a, s in rows], state.dtype(result))
    state.set(result, out)


def _add_rows(
    state: Lower, out: Form, view: View, rows: Sequence[tuple[Atom, int, int]], dtype: DType
) -> None:
    """Add the contribution of the partition digits to each partition."""
    p = np.arange(out.partitions)
    column = np.zeros(out.partitions, dtype.numpy)
    for a, step, each in rows:
        column += (p // step % a.size * each).astype(dtype.numpy)
    name = f"rows.{dtype.name}.{sha256(column.tobytes()).hexdigest()[:16]}"
    buffer, offset = state.constants.keep(name, column[:, None], dtype)
    number = View(buffer, 0, out.partitions, ((1, 1),), offset, (), 0, dtype.name.lower())
    engine = engine_for(AluOp.ADD, dtype, state.machine.has_pool)
    if dtype is DType.F32:
        state.emitter.tensor_scalar(view, view, AluOp.ADD, number, engine=engine)
    else:
        wide = replace(number, free=tuple((0, n) for _, n in view.free))
        state.emitter.tensor_tensor(AluOp.ADD, view, view, wide, engine)
