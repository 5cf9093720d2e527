"""Lower reduce_window: pooling by reductions over overlapping views, or by shifted views.

Shifted views are combined with elementwise ops, one dimension at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product as combinations
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.reduction import ReduceWindowOp
from neuronir.dialects.nc.enums import AluOp, Engine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.hlo.decompositions.windows import cumulative
from neuronir.passes.lowering.conversion.convert import Converter
from neuronir.passes.lowering.convolution.padding import padded, renumbered
from neuronir.passes.lowering.layouts.layout import (
    Form,
    atom,
    dim_atoms,
    join,
    merge,
    row_major,
    span,
)
from neuronir.passes.lowering.layouts.natural import divides, in_dimensions, workable
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value, slice_value
from neuronir.passes.lowering.layouts.views import chunks, plan, walked
from neuronir.passes.lowering.rules.elementwise import engine_for
from neuronir.passes.lowering.rules.reduce import (
    full_value,
    is_neutral,
    neutral,
    reducer,
    with_initial,
)
from neuronir.passes.lowering.rules.running import running
from neuronir.passes.lowering.state import Lowering


def lower_reduce_window(state: Lowering, op: Operation) -> None:
    """Lower reduce_window of one operand without base dilation."""
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
    operand, initial = state.value(op.operands[0]), state.value(op.operands[1])
    value = operand
    if initial.scalar is None:
        raise NeuronError("NCC_EVRF001", f"{source_name(op)}: the initial value must be a constant")
    dtype = state.dtype(op.results[0])
    alu = reducer(op, op.regions[0], dtype)
    along = cumulative(op)
    if along is not None and dtype.is_float and dtype.size >= 2:
        whole = full_value(state, value)
        partition = window_partition(state, whole, [along[0]])
        found = running(state, whole, along[0], alu, partition, backwards=along[1])
        if found is not None:
            state.set(op.results[0], with_initial(state, found, alu, initial.scalar))
            return
    rank = len(size)
    windowed = [
        d for d in range(rank) if size[d] > 1 or stride[d] > 1 or pads[2 * d] or pads[2 * d + 1]
    ]
    fill = neutral(alu, dtype)
    windows = {
        d: Window(size[d], stride[d], dilation[d], pads[2 * d], pads[2 * d + 1]) for d in windowed
    }
    steps = _steps(state, value, windows, alu)
    while steps:
        step = steps.pop(0)
        reduced = _reduced(state, value, {d: windows[d] for d in step}, alu)
        if reduced is not None:
            value = reduced
            continue
        if len(step) > 1:  # there is no way to reduce them together
            steps[:0] = [(d,) for d in step]
            continue
        (d,) = step
        window = windows[d]
        if window.covering(value.shape[d]) is None:
            low, high = [0] * rank, [0] * rank
            low[d], high[d] = window.low, window.high
            partition = window_partition(state, value, windowed)
            value = padded(state, value, low, high, [0] * rank, fill, partition)
            window = replace(window, low=0, high=0)
        value = _along(state, value, d, window, alu)
    made = value is not operand and value.source is None and value.forms
    if not made and not is_neutral(alu, dtype, initial.scalar):
        value = state.converter.expanded(value)  # the initial value must be the identity
    state.set(op.results[0], with_initial(state, value, alu, initial.scalar))


def window_partition(state: Lowering, value: Value, windowed: list[int]) -> Partition:
    """Return a layout with the windowed dimensions on the free axis: an existing one, else a new
    one.
    """
    axes = dim_atoms(value.shape, windowed)
    for form in state.converter.source_forms(value):
        if not form.usable or not workable(form, value.shape):
            continue
        if not any(x.stride < a.end and a.stride < x.end for a, _ in form.partition for x in axes):
            return join(form.partition)
    chosen = state.default_partition(value.support, axes)
    if divides([a for a, _ in chosen], value.shape):
        return chosen
    kept = [d for d in range(len(value.shape)) if d not in windowed]
    return in_dimensions(value.shape, kept, state.machine.partitions)


@dataclass(frozen=True)
class Window:
    """A window along one dimension, with the padding on both sides."""

    size: int
    stride: int
    dilation: int
    low: int
    high: int

    def outputs(self, extent: int) -> int:
        """Return the positions of the window over `extent` elements."""
        reach = (self.size - 1) * self.dilation + 1
        return (extent + self.low + self.high - reach) // self.stride + 1

    def range(self, tap: int, extent: int) -> tuple[int, int]:
        """Return the outputs [first, end) whose `tap` is inside the input."""
        shift = tap * self.dilation - self.low
        first = max(0, -(shift // self.stride))
        return first, max(first, min(self.outputs(extent), (extent - 1 - shift) // self.stride + 1))

    def covering(self, extent: int) -> int | None:
        """Return a tap that is inside the input for every output, if there is one."""
        whole = (0, self.outputs(extent))
        return next((t for t in range(self.size) if self.range(t, extent) == whole), None)

    def segments(self, extent: int) -> list[tuple[int, int, int, int]]:
        """Return runs of outputs with equal taps inside the input:

        (first, end, tap, last tap + 1).
        """
        ranges = [self.range(t, extent) for t in range(self.size)]
        count = self.outputs(extent)
        cuts = sorted({0, count, *(c for r in ranges if r[0] < r[1] for c in r)})
        out: list[tuple[int, int, int, int]] = []
        for first, end in zip(cuts, cuts[1:], strict=False):
            inside = [t for t, (a, b) in enumerate(ranges) if a <= first and end <= b]
            out.append((first, end, inside[0] if inside else 0, inside[-1] + 1 if inside else 0))
        return out


MOST_PIECES = 16
"""Limit of instructions for borders, beyond which shifted views are combined: for windows that are
not much smaller than the operand.
"""

PIECE_ELEMENTS = 4096
"""Limit of operand elements of one reducing instruction, so that it need not wait for the whole
operand, nor its readers for the whole result.
"""


def _steps(
    state: Lowering, value: Value, windows: Mapping[int, Window], alu: AluOp
) -> list[tuple[int, ...]]:
    """Return the dimensions to reduce together, by DVE cycles: all at once, or one by one."""
    if len(windows) != 2:
        return [(d,) for d in windows]
    shape = list(value.shape)
    for d, window in windows.items():
        shape[d] = window.outputs(shape[d])
    taps = prod(w.size for w in windows.values())
    together = prod(shape) * taps * _cycles(state, value, list(windows), alu)
    apart = 0.0
    shape = list(value.shape)
    for d, window in windows.items():
        shape[d] = window.outputs(shape[d])
        chain = (window.size - 1) * state.machine.dve_two_input_cycles
        apart += prod(shape) * min(chain, window.size * _cycles(state, value, [d], alu))
    return [tuple(windows)] if together <= apart else [(d,) for d in windows]


def _cycles(state: Lowering, value: Value, dims: list[int], alu: AluOp) -> float:
    """Return the tensor_reduce cycles per element of windows along `dims`
    (neuronir.dialects.nc.cost).
    """
    machine = state.machine
    small = value.dtype.is_float and value.dtype.size == 2 and alu in (AluOp.ADD, AluOp.MAX)
    cycles = machine.dve_reduce_16bit_cycles if small else 1.0
    partition = window_partition(state, value, dims)
    taken = {a.stride for a, _ in partition}
    order = row_major(value.shape)
    inner = prod(
        n
        for d, n in enumerate(value.shape)
        if d > max(dims) and order[d] not in taken and value.shape[d] > 1
    )
    strided = inner * value.dtype.size > machine.strided_access_bytes
    return cycles * (machine.strided_access_factor if strided else 1.0)


def _reduced(
    state: Lowering, value: Value, windows: Mapping[int, Window], alu: AluOp
) -> Value | None:
    """Reduce windows along some dimensions by tensor_reduce over overlapping views.

    Returns None if shifted views take less time.
    """
    dims = list(windows)
    if len(dims) == 1:
        (window,) = windows.values()
        chain = (window.size - 1) * state.machine.dve_two_input_cycles
        if window.size * _cycles(state, value, dims, alu) > chain:
            return None
    segments = [w.segments(value.shape[d]) for d, w in windows.items()]
    if prod(len(s) for s in segments) > MOST_PIECES:
        return None
    partition = window_partition(state, value, dims)
    form = state.converter.ensure(value, partition, span(partition))
    form = state.converter.by_dimensions(value, form)
    order = row_major(value.shape)
    steps = [form.stride(atom(value.shape[d], order[d])) for d in dims]
    if any(s is None for s in steps):
        return None
    shape = list(value.shape)
    for d, window in windows.items():
        shape[d] = window.outputs(value.shape[d])
    result = new_value(shape, value.dtype)
    alone = any(tap == last for runs in segments for _, _, tap, last in runs)
    result.special = alone or value.may_be_special()
    support = merge(dim_atoms(shape, range(len(shape))))
    out = state.allocate(support, renumbered(value, join(form.partition), shape), value.dtype)
    for runs in combinations(*segments):
        _segment(state, value, form, result, out, windows, [s or 0 for s in steps], runs, alu)
    result.forms.append(out)
    return result


def _segment(
    state: Lowering,
    value: Value,
    form: Form,
    result: Value,
    out: Form,
    windows: Mapping[int, Window],
    strides: list[int],
    runs: tuple[tuple[int, int, int, int], ...],
    alu: AluOp,
) -> None:
    """Emit the outputs of one range, whose windows all have the same taps inside of the input.

    `runs` has the range along each dimension of `windows`: (first output, end of the outputs, first
    tap, end of the taps). Raises NIR_LOW004 if the range splits a factor of the layout.
    """
    rank = len(value.shape)
    starts, limits, steps = [0] * rank, list(value.shape), [1] * rank
    first, end = [0] * rank, list(result.shape)
    taps: list[tuple[int, int]] = []
    for (d, window), stride, (low, high, tap, last) in zip(
        windows.items(), strides, runs, strict=True
    ):
        first[d], end[d] = low, high
        starts[d] = low * window.stride + tap * window.dilation - window.low
        limits[d] = starts[d] + (high - low - 1) * window.stride + 1
        steps[d] = window.stride
        taps.append((stride * window.dilation, last - tap))
    target = slice_value(result, first, end, [1] * rank)
    assert target.from_source is not None
    dst = target.from_source(out)
    if dst is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    machine = state.machine
    if any(count == 0 for _, count in taps):  # outputs of padding alone
        dims = walked([dst], [a for a, _ in dst.free])
        for piece in chunks(dims, out.partitions, 4, machine.max_free_sbuf):
            state.emitter.memset(piece.view(dst, 0), neutral(alu, value.dtype))
        return
    view = slice_value(value, starts, limits, steps)
    assert view.from_source is not None
    src = view.from_source(form)
    walk = None if src is None else plan([dst, src], [a for a, _ in dst.free])
    if src is None or walk is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    taps = sorted((t for t in taps if t[1] > 1), reverse=True) or [(1, 1)]
    count = prod(n for _, n in taps)
    room = machine.max_free_dims - len(taps)
    engine = engine_for(alu, value.dtype, machine.has_pool)
    for piece in chunks(walk, out.partitions, room, max(1, PIECE_ELEMENTS // count)):
        moving = [(d.strides[1], d.size) for d in piece.dims]
        source = src.at(piece.number, piece.partitions, [*moving, *taps])
        params = {"op": alu, "axes": len(taps)}
        state.emitter.emit("tensor_reduce", [piece.view(dst, 0)], [source], params, engine)


def _cut(value: Value, d: int, start: int, count: int, step: int) -> Value:
    starts, limits = [0] * len(value.shape), list(value.shape)
    steps = [1] * len(value.shape)
    starts[d], limits[d], steps[d] = start, start + (count - 1) * step + 1, step
    return slice_value(value, starts, limits, steps)


def _along(state: Lowering, value: Value, d: int, window: Window, alu: AluOp) -> Value:
    """Reduce windows along one dimension: combine shifted views where they are inside."""
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
    """Emit forms[0] = forms[1] (alu forms[2])."""
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
    form = converter.by_dimensions(value, converter.ensure(value, partition, span(partition)))
    assert view.from_source is not None
    mapped = view.from_source(form) or view.from_source(converter.in_order(value, form))
    if mapped is None:
        raise NeuronError("NIR_LOW004", "a window cuts a factor of its layout")
    return mapped
