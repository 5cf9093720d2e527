"""Lower row composites: each row is on the free axis of a partition."""

from xdsl.ir import Operation

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.decompositions.row_networks import BITONIC, flag
from neuronir.passes.hlo.decompositions.row_tops import TOP_CODES
from neuronir.passes.lowering.layouts.layout import atom, row_major
from neuronir.passes.lowering.layouts.views import chunks, plan
from neuronir.passes.lowering.rows.search import Row, find_first
from neuronir.passes.lowering.rows.sort import sort_columns, sort_form
from neuronir.passes.lowering.rows.top import top_of_form
from neuronir.passes.tile.lower.row_sums import seen_from
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.row_composites import axis_of, count_of


@register_lowering("hlo.composite.first_match")
def lower_first_match(state: Lower, op: Operation) -> None:
    """Lower to find_index8, one row of a partition at a time."""
    assert isinstance(op, CompositeOp)
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    axis = axis_of(op)
    kept = [d for d in range(len(source)) if d != axis]
    form, out = state.held(op.operands[0]), state.allocate(op.results[0])
    wanted = seen_from(source, result, kept, state.held(op.operands[1]))
    place = seen_from(source, result, kept, out)
    whole = atom(source[axis], row_major(source)[axis])
    walk = plan([place, wanted, form], [a for a, _ in place.free])
    inside = plan([form], [whole])
    if walk is None or not inside or len(inside) > 3:
        raise NeuronError("NIR_TIL007", "rows are not contiguous")
    dims = [(d.strides[0], d.size) for d in inside]
    partitions = min(f.partitions for f in (form, wanted, place))
    rows = [
        Row(form.at(chunk.number, partitions, dims), chunk.view(wanted, 1), chunk.view(place, 0))
        for chunk in chunks(walk, partitions, 0, 1)
    ]
    find_first(state.emitter, rows, op.operands[0] in state.special)
    state.set(op.results[0], out)


@register_lowering("hlo.composite.sort_rows")
def lower_sort_rows(state: Lower, op: Operation) -> None:
    """Lower to a comparison network over all rows of a partition at once."""
    assert isinstance(op, CompositeOp)
    shape, axis = shape_of(op.results[0]), axis_of(op)
    form, out = state.held(op.operands[0]), state.allocate(op.results[0])
    whole = atom(shape[axis], row_major(shape)[axis])
    sort_form(state.emitter, form, whole, out, flag(op.params, BITONIC))
    state.set(op.results[0], out)


@register_lowering("hlo.composite.top_rows", "hlo.composite.top_codes")
def lower_top(state: Lower, op: Operation) -> None:
    """Select eight elements of a row at a time."""
    assert isinstance(op, CompositeOp)
    n, width = shape_of(op.operands[0])[-1], shape_of(op.results[0])[-1]
    form, out = state.held(op.operands[0]), state.allocate(op.results[0])
    top_of_form(state.emitter, form, n, out, width, count_of(op), op.kind.data == TOP_CODES)
    state.set(op.results[0], out)


@register_lowering("hlo.composite.sort_pairs")
def lower_sort_pairs(state: Lower, op: Operation) -> None:
    """Lower to a network that compares pairs of values."""
    assert isinstance(op, CompositeOp)
    high, low, *carried = (state.held(v) for v in op.operands)
    out = state.allocate(op.results[0])
    sort_columns(state.emitter, op, high, low, carried, out)
    state.set(op.results[0], out)
