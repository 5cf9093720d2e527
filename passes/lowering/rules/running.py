"""Lower running sums, products and extremes (cumulative reduce_window) as DVE recurrences."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import (
    Form,
    atom,
    dim_atoms,
    join,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value
from neuronir.passes.lowering.layouts.views import Dim, chunks
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
    support = merge(dim_atoms(value.shape, range(len(value.shape))))
    out = state.allocate(support, join(form.partition), value.dtype)
    operands: tuple[Form | float, Form | float] = (form, form)
    ops = (alu, alu)
    if alu is AluOp.ADD:  # 1 * r + x
        operands, ops = (1.0, form), (AluOp.MULTIPLY, AluOp.ADD)
    elif alu is AluOp.MULTIPLY:  # x * r - 0
        operands, ops = (form, -0.0), (AluOp.MULTIPLY, AluOp.ADD)
    along = (value.shape[axis], row_major(value.shape)[axis])
    begin = neutral(alu, value.dtype)
    if not scan_rows(state, out, operands, begin, along, ops, backwards=backwards):
        return None
    result = new_value(value.shape, value.dtype)
    result.special = value.may_be_special()
    result.forms.append(out)
    return result


def scan_rows(
    state: Lowering,
    out: Form,
    operands: Sequence[Form | float],
    begin: Form | float,
    along: tuple[int, int],
    ops: tuple[AluOp, AluOp],
    *,
    backwards: bool,
) -> bool:
    """Emit `h[t] = (a[t] op0 h[t-1]) op1 b[t]` for two operands, one instruction per row.

    The extent and the stride of a row in the whole value are `along`. Returns False if rows are
    longer than an instruction's or not contiguous on the free axis.
    """
    row = atom(*along)
    steps = [0 if isinstance(f, float) else f.stride(row) for f in (out, *operands)]
    if None in steps or row.size > state.machine.max_free_sbuf:
        return False
    cuts = {row.stride, row.end}
    rest = [
        b
        for a, _ in out.free
        for b in split_at(a, cuts) or (a,)
        if not (row.stride <= b.stride and b.end <= row.end)
    ]
    numbers: dict[str, float | int] = {"op0": ops[0], "op1": ops[1]}
    if isinstance(begin, float):
        numbers["initial"] = begin
    sources = [_filled(state, f, out.partitions) if isinstance(f, float) else f for f in operands]
    for one in chunks([Dim(a, ()) for a in rest], out.partitions, 0, 1):
        count = one.partitions
        dst, *views = (
            replace(f, free=((0, row.size),), partitions=count)
            if isinstance(f, View)
            else _row(f.at(one.number, count, ()), step or 0, row.size, backwards=backwards)
            for f, step in zip((out, *sources), steps, strict=True)
        )
        first = None
        if not isinstance(begin, float):
            first = begin.at(one.number, count, ((1, 1),))
        state.emitter.emit("tensor_tensor_scan", [dst], [*views, first], numbers, Engine.DVE)
    return True


def _filled(state: Lowering, number: float, partitions: int) -> View:
    """Return one element per partition with a number."""
    view = View(state.emitter.sbuf(partitions, 1, DType.F32), 0, partitions, ((1, 1),))
    state.emitter.memset(view, number)
    return view


def _row(first: View, step: int, n: int, *, backwards: bool) -> View:
    """Return `n` elements from `first` on, in the order in which they are combined."""
    if backwards:
        return replace(first, free=((-step, n),), offset=first.offset + step * (n - 1))
    return replace(first, free=((step, n),))
