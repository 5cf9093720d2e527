"""reduce_window: pooling as elementwise ops over shifted views, one dimension after the other."""

from xdsl.ir import Operation

from neuronir.dialects.hlo.reduction import ReduceWindowOp
from neuronir.dialects.nc.enums import AluOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.convert import Converter
from neuronir.passes.lowering.demand import ints
from neuronir.passes.lowering.elementwise import engine_for
from neuronir.passes.lowering.layout import Form, dim_atoms, join, merge
from neuronir.passes.lowering.padding import padded
from neuronir.passes.lowering.reduce import (
    full_copy,
    is_neutral,
    neutral,
    reducer,
    with_initial,
)
from neuronir.passes.lowering.state import Lowering, span
from neuronir.passes.lowering.values import Partition, Value, new_value, slice_value
from neuronir.passes.lowering.views import chunks, plan


def lower_reduce_window(state: Lowering, op: Operation) -> None:
    """reduce_window of one operand without base dilation."""
    assert isinstance(op, ReduceWindowOp)
    if len(op.operands) != 2:
        raise NeuronError(
            "NCC_EVRF019",
            f"{source_name(op)}: reduce-window takes one operand and one initial value",
        )
    size, stride = ints(op.window_dimensions), ints(op.window_strides)
    base, dilation = ints(op.base_dilations), ints(op.window_dilations)
    pads = ints(op.padding)
    if any(b != 1 for b in base):
        raise NeuronError("NCC_EVRF017", f"{source_name(op)}: base dilation is not supported")
    value, initial = state.value(op.operands[0]), state.value(op.operands[1])
    if initial.scalar is None:
        raise NeuronError("NCC_EVRF001", f"{source_name(op)}: the initial value must be a constant")
    dtype = state.dtype(op.results[0])
    alu = reducer(op, op.regions[0], dtype)
    rank = len(size)
    windowed = [
        d for d in range(rank) if size[d] > 1 or stride[d] > 1 or pads[2 * d] or pads[2 * d + 1]
    ]
    partition = window_partition(state, value, windowed)
    fill = neutral(alu, dtype)
    value = padded(state, value, pads[0::2], pads[1::2], [0] * rank, fill, partition)
    for d in windowed:
        value = _along(state, value, d, size[d], stride[d], dilation[d], alu)
    if not windowed and not is_neutral(alu, dtype, initial.scalar):
        value = full_copy(state, value)
    state.set(op.results[0], with_initial(state, value, alu, initial.scalar))


def window_partition(state: Lowering, value: Value, windowed: list[int]) -> Partition:
    """A layout with the windowed dimensions on the free axis: one that is there, else a new one."""
    axes = dim_atoms(value.shape, windowed)
    for form in state.converter.source_forms(value):
        if not form.usable:
            continue
        if not any(x.stride < a.end and a.stride < x.end for a, _ in form.partition for x in axes):
            return join(form.partition)
    return state.default_partition(value.support, axes)


def _along(
    state: Lowering, value: Value, d: int, size: int, stride: int, dilation: int, alu: AluOp
) -> Value:
    """Reduce windows along one dimension: `size` shifted views of the value."""
    reach = (size - 1) * dilation + 1
    count = (value.shape[d] - reach) // stride + 1
    views: list[Value] = []
    for tap in range(size):
        starts = [0] * len(value.shape)
        limits = list(value.shape)
        steps = [1] * len(value.shape)
        starts[d] = tap * dilation
        limits[d] = tap * dilation + (count - 1) * stride + 1
        steps[d] = stride
        views.append(slice_value(value, starts, limits, steps))
    if size == 1:
        return views[0]
    partition = window_partition(state, value, [d])
    result = new_value(views[0].shape, value.dtype)
    result.special = value.may_be_special()
    first = _form(state.converter, views[0], value, partition)
    support = merge(dim_atoms(result.shape, range(len(result.shape))))
    out = state.allocate(support, join(first.partition), value.dtype)
    forms = [_form(state.converter, v, value, partition) for v in views]
    engine = engine_for(alu, value.dtype, state.machine.has_pool)
    previous: Form = forms[0]
    for form in forms[1:]:
        dims = plan([out, previous, form], [a for a, _ in out.free])
        if dims is None:
            raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
        for piece in chunks(dims, out.partitions, 3, state.machine.max_free_sbuf):
            state.emitter.tensor_tensor(
                alu, piece.view(out, 0), piece.view(previous, 1), piece.view(form, 2), engine
            )
        previous = out
    result.forms.append(out)
    return result


def _form(converter: Converter, view: Value, value: Value, partition: Partition) -> Form:
    form = converter.ensure(value, partition, span(partition))
    assert view.from_source is not None
    mapped = view.from_source(form)
    if mapped is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    return mapped
