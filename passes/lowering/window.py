"""reduce_window: pooling as elementwise ops over shifted views, one dimension after the other."""

from dataclasses import dataclass, replace

from xdsl.ir import Operation

from neuronir.dialects.hlo.reduction import ReduceWindowOp
from neuronir.dialects.nc.enums import AluOp, Engine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.convert import Converter
from neuronir.passes.lowering.demand import ints
from neuronir.passes.lowering.elementwise import engine_for
from neuronir.passes.lowering.layout import Form, dim_atoms, join, merge
from neuronir.passes.lowering.padding import padded
from neuronir.passes.lowering.reduce import (
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
    for d in windowed:
        window = Window(size[d], stride[d], dilation[d], pads[2 * d], pads[2 * d + 1])
        if window.covering(value.shape[d]) is None:
            low, high = [0] * rank, [0] * rank
            low[d], high[d] = window.low, window.high
            value = padded(state, value, low, high, [0] * rank, fill, partition)
            window = replace(window, low=0, high=0)
        value = _along(state, value, d, window, alu)
    if not windowed and not is_neutral(alu, dtype, initial.scalar):
        value = state.converter.expanded(value)
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


@dataclass(frozen=True)
class Window:
    """A window along one dimension, with the padding on both sides."""

    size: int
    stride: int
    dilation: int
    low: int
    high: int

    def outputs(self, extent: int) -> int:
        """Positions of the window over `extent` elements."""
        reach = (self.size - 1) * self.dilation + 1
        return (extent + self.low + self.high - reach) // self.stride + 1

    def range(self, tap: int, extent: int) -> tuple[int, int]:
        """The outputs [first, end) whose `tap` lies inside the input."""
        shift = tap * self.dilation - self.low
        first = max(0, -(shift // self.stride))
        return first, max(first, min(self.outputs(extent), (extent - 1 - shift) // self.stride + 1))

    def covering(self, extent: int) -> int | None:
        """A tap that lies inside the input for every output, if there is one."""
        whole = (0, self.outputs(extent))
        return next((t for t in range(self.size) if self.range(t, extent) == whole), None)


def _cut(value: Value, d: int, start: int, count: int, step: int) -> Value:
    starts, limits = [0] * len(value.shape), list(value.shape)
    steps = [1] * len(value.shape)
    starts[d], limits[d], steps[d] = start, start + (count - 1) * step + 1, step
    return slice_value(value, starts, limits, steps)


def _along(state: Lowering, value: Value, d: int, window: Window, alu: AluOp) -> Value:
    """Reduce windows along one dimension: shifted views of the value, each where it lies inside."""
    extent = value.shape[d]
    count = window.outputs(extent)
    first_tap = window.covering(extent)
    assert first_tap is not None
    start = first_tap * window.dilation - window.low
    whole = _cut(value, d, start, count, window.stride)
    if window.size == 1:
        return whole
    partition = window_partition(state, value, [d])
    result = new_value(whole.shape, value.dtype)
    result.special = value.may_be_special()
    previous = _form(state.converter, whole, value, partition)
    support = merge(dim_atoms(result.shape, range(len(result.shape))))
    out = state.allocate(support, join(previous.partition), value.dtype)
    engine = engine_for(alu, value.dtype, state.machine.has_pool)
    taps = [t for t in range(window.size) if t != first_tap]
    taps.sort(key=lambda t: window.range(t, extent) != (0, count))
    written = False
    for tap in taps:
        low, end = window.range(tap, extent)
        if end <= low:
            continue
        if not written and (low, end) != (0, count):
            _pointwise(state, [out, previous], out, None, engine)
            written = True
        shift = tap * window.dilation - window.low
        view = _cut(value, d, low * window.stride + shift, end - low, window.stride)
        form = _form(state.converter, view, value, partition)
        part = _cut(result, d, low, end - low, 1)
        assert part.from_source is not None
        source = part.from_source(out) if written else previous
        target = part.from_source(out)
        if source is None or target is None:
            raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
        _pointwise(state, [target, source, form], target, alu, engine)
        written = True
    if not written:
        _pointwise(state, [out, previous], out, None, engine)
    result.forms.append(out)
    return result


def _pointwise(
    state: Lowering, forms: list[Form], out: Form, alu: AluOp | None, engine: Engine
) -> None:
    """forms[0] = forms[1] (alu forms[2])."""
    dims = plan(forms, [a for a, _ in out.free])
    if dims is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    for piece in chunks(dims, out.partitions, 3, state.machine.max_free_sbuf):
        views = [piece.view(f, i) for i, f in enumerate(forms)]
        if alu is None:
            state.emitter.copy(views[0], views[1], engine)
        else:
            state.emitter.tensor_tensor(alu, views[0], views[1], views[2], engine)


def _form(converter: Converter, view: Value, value: Value, partition: Partition) -> Form:
    form = converter.ensure(value, partition, span(partition))
    assert view.from_source is not None
    mapped = view.from_source(form)
    if mapped is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    return mapped
