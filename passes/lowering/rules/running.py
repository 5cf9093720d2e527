"""Lower running sums, products and extremes (cumulative reduce_window) as DVE recurrences."""

from dataclasses import replace

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import (
    atom,
    dim_atoms,
    join,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.rules.reduce import neutral
from neuronir.passes.lowering.state import Lowering


def running(
    state: Lowering,
    value: Value,
    axis: int,
    alu: AluOp,
    partition: Partition,
    *,
    backwards: bool = False,
) -> Value | None:
    """Compute the running result of an operator along a dimension, `backwards` from its end.

    `r[i] = (x[i] op r[i-1])`, in fp32: one pass of tensor_tensor_scan, at two cycles per element.
    Returns None if the dimension is not contiguous on the free axis in this partition.
    """
    form = state.converter.ensure(value, partition, span(partition))
    form = state.converter.by_dimensions(value, form)
    n, whole = value.shape[axis], atom(value.shape[axis], row_major(value.shape)[axis])
    support = merge(dim_atoms(value.shape, range(len(value.shape))))
    out = state.allocate(support, join(form.partition), value.dtype)
    steps = [f.stride(whole) for f in (out, form)]
    if None in steps or n > state.machine.max_free_sbuf:
        return None
    cuts = {whole.stride, whole.end}
    rest = [
        b
        for a, _ in out.free
        for b in split_at(a, cuts) or (a,)
        if not (whole.stride <= b.stride and b.end <= whole.end)
    ]
    rows = form.partitions
    other = View(state.emitter.sbuf(rows, 1, DType.F32), 0, rows, ((0, n),))
    if alu in (AluOp.ADD, AluOp.MULTIPLY):
        number = 1.0 if alu is AluOp.ADD else -0.0
        state.emitter.memset(replace(other, free=((1, 1),)), number)
    for place in numbers_of(rest):
        dst = _row(out.at(place, rows, ()), steps[0] or 0, n, backwards=backwards)
        src = _row(form.at(place, rows, ()), steps[1] or 0, n, backwards=backwards)
        params: dict[str, float | int] = {"initial": neutral(alu, value.dtype)}
        sources: list[View | None]
        if alu is AluOp.ADD:  # 1 * r + x
            sources, ops = [other, src, None], (AluOp.MULTIPLY, AluOp.ADD)
        elif alu is AluOp.MULTIPLY:  # x * r - 0
            sources, ops = [src, other, None], (AluOp.MULTIPLY, AluOp.ADD)
        else:
            sources, ops = [src, src, None], (alu, alu)
        params.update(op0=ops[0], op1=ops[1])
        state.emitter.emit("tensor_tensor_scan", [dst], sources, params, Engine.DVE)
    result = new_value(value.shape, value.dtype)
    result.special = value.may_be_special()
    result.forms.append(out)
    return result


def _row(first: View, step: int, n: int, *, backwards: bool) -> View:
    """Return `n` elements from `first` on, in the order in which they are combined."""
    if backwards:
        return replace(first, free=((-step, n),), offset=first.offset + step * (n - 1))
    return replace(first, free=((step, n),))
