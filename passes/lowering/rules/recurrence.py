"""Lower the composite `recurrence`: rows on partitions, one DVE instruction per row."""

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp
from neuronir.passes.hlo.recurrences.composite import recurrence_of
from neuronir.passes.lowering.layouts.layout import Form, join, row_major, span
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value, rename_dims
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.rules.running import scan_rows
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
    if shape[axis] > state.machine.max_free_sbuf:
        return False
    values = [state.value(v) for v in it.arrays]
    base = next((full_value(state, v) for v in reversed(values) if v.scalar is None), None)
    if base is None:
        return False
    partition = window_partition(state, base, [axis])
    kept = [d for d in range(len(shape)) if d != axis]
    value = state.value(it.begin)
    operands = [_form(state, v, partition) for v in values]
    begin: Form | float = float(value.scalar or 0.0)
    if value.scalar is None:
        wide = rename_dims(value, shape, kept)
        begin = state.converter.ensure(wide, partition, span(partition))
    out = state.allocate(whole_support(op.results[0]), join(partition), values[-1].dtype)
    if len(operands) == 1:
        operands *= 2
    along = (shape[axis], row_major(shape)[axis])
    ops = _OPERATORS[it.kind]
    if not scan_rows(state, out, operands, begin, along, ops, backwards=it.backwards):
        return False
    result = new_value(shape, values[-1].dtype)
    result.special = any(v.may_be_special() for v in values)
    result.forms.append(out)
    state.set(op.results[0], result)
    return True


def _form(state: Lowering, value: Value, partition: Partition) -> Form | float:
    """Return a copy with rows on partitions; the number of a scalar."""
    if value.scalar is not None:
        return float(value.scalar)
    full = full_value(state, value)
    form = state.converter.ensure(full, partition, span(partition))
    return state.converter.by_dimensions(full, form)
