"""Lower the composite `recurrence`: rows on partitions, one DVE instruction per row."""

from dataclasses import replace

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.hlo.recurrences.composite import recurrence_of
from neuronir.passes.lowering.layouts.layout import Form, atom, join, row_major, span, split_at
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value, rename_dims
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.rules.window import window_partition
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.state import whole as whole_support

_OPERATORS = {
    "linear": (AluOp.MULTIPLY, AluOp.ADD),
    "maximum": (AluOp.MAX, AluOp.MAX),
    "minimum": (AluOp.MIN, AluOp.MIN),
}


def lower_recurrence(state: Lowering, op: Operation) -> bool:
    """Lower `h[t] = a[t] * h[t-1] + b[t]`; return False if rows are not contiguous on the free
    axis.
    """
    it = recurrence_of(op)
    if it is None or it.begin is None:
        return False
    shape, axis = state.shape(op.results[0]), it.dimension
    n, along = shape[axis], atom(shape[axis], row_major(shape)[axis])
    if n > state.machine.max_free_sbuf:
        return False
    values = [state.value(v) for v in it.arrays]
    base = next((full_value(state, v) for v in reversed(values) if v.scalar is None), None)
    if base is None:
        return False
    partition = window_partition(state, base, [axis])
    kept = [d for d in range(len(shape)) if d != axis]
    begin = state.value(it.begin)
    wide = begin if begin.scalar is not None else rename_dims(begin, shape, kept)
    rows = span(partition)
    forms = [_form(state, v, partition) for v in values]
    first = None if begin.scalar is not None else state.converter.ensure(wide, partition, rows)
    out = state.allocate(whole_support(op.results[0]), join(partition), values[-1].dtype)
    steps = [0 if f is None else f.stride(along) for f in (out, *forms)]
    if None in steps:
        return False
    cuts = {along.stride, along.end}
    rest = [
        b
        for a, _ in out.free
        for b in split_at(a, cuts) or (a,)
        if not (along.stride <= b.stride and b.end <= along.end)
    ]
    for place in numbers_of(rest):
        views = [
            _filled(state, v, out.partitions, n)
            if f is None
            else _row(f, s or 0, place, out.partitions, n, it.backwards)
            for v, f, s in zip(values, forms, steps[1:], strict=True)
        ]
        views = views if len(views) == 2 else [*views, *views]
        op0, op1 = _OPERATORS[it.kind]
        numbers: dict[str, float | int] = {"op0": op0, "op1": op1}
        initial = None
        if first is None:
            numbers["initial"] = float(begin.scalar or 0.0)
        else:
            initial = first.at(place, out.partitions, ((1, 1),))
        dst = _row(out, steps[0] or 0, place, out.partitions, n, it.backwards)
        state.emitter.emit("tensor_tensor_scan", [dst], [*views, initial], numbers, Engine.DVE)
    result = new_value(shape, values[-1].dtype)
    result.special = any(v.may_be_special() for v in values)
    result.forms.append(out)
    state.set(op.results[0], result)
    return True


def _form(state: Lowering, value: Value, partition: Partition) -> Form | None:
    """Return a copy with rows on partitions; None for a scalar."""
    if value.scalar is not None:
        return None
    full = full_value(state, value)
    form = state.converter.ensure(full, partition, span(partition))
    return state.converter.by_dimensions(full, form)


def _row(form: Form, step: int, place: int, partitions: int, n: int, reverse: bool) -> View:
    """Return a row in the order of the recurrence."""
    view = form.at(place, partitions, ((step, n),))
    if not reverse:
        return view
    return replace(view, free=((-step, n),), offset=view.offset + step * (n - 1))


def _filled(state: Lowering, value: Value, partitions: int, n: int) -> View:
    """Return a scalar for all elements of a row."""
    view = View(state.emitter.sbuf(partitions, 1, DType.F32), 0, partitions, ((1, 1),))
    state.emitter.memset(view, float(value.scalar or 0.0))
    return replace(view, free=((0, n),))
