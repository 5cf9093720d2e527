"""Lower slices of tiles and of arrays in HBM, and tiles that are inserted in an array."""

from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Operation

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.conversion.memory import copy_in_hbm
from neuronir.passes.tile.lower.constants import constant_in_hbm
from neuronir.passes.tile.lower.margins import slice_padded
from neuronir.passes.tile.lower.memory import copy, store
from neuronir.passes.tile.lower.pieces import part_of_whole
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Held
from neuronir.passes.tile.lower.views import slice_form


@register_lowering("tensor.extract_slice")
def lower_extract_slice(state: Lower, op: Operation) -> None:
    """Lower a slice: the same copy from another element on."""
    assert isinstance(op, ExtractSliceOp)
    source, sizes = op.source, shape_of(op.result)
    if source in state.padded:
        slice_padded(state, op)
        return
    shape, offsets = shape_of(source), state.indices.places(op)
    if isinstance(source.owner, ConstantOp) and source not in state.values:
        constant_in_hbm(state, source.owner)
    if source in state.memory:
        form = slice_form(state.memory[source], shape, sizes, offsets)
        if form is None:
            raise NeuronError("NIR_TIL004", "a slice of an array in HBM is not contiguous")
        state.memory[op.result] = form
        return
    form = slice_form(state.held(source), shape, sizes, offsets)
    if form is None:
        raise NeuronError("NIR_TIL004", "a slice of a tile is not contiguous")
    state.values[op.result] = Held(form, state.dtype(source))


@register_lowering("tensor.insert_slice")
def lower_insert_slice(state: Lower, op: Operation) -> None:
    """Insert a tile into its array."""
    assert isinstance(op, InsertSliceOp)
    if layout_of(op.dest) is not None:
        copy(state, state.held(op.source), part_of_whole(state, op))
        state.values[op.result] = state.values[op.dest]
        return
    whole = state.memory[op.dest]
    places = state.indices.places(op)
    target = slice_form(whole, shape_of(op.dest), shape_of(op.source), places)
    if target is None:
        raise NeuronError("NIR_TIL004", "a tile of an array in HBM is not contiguous")
    if op.source not in state.memory:
        store(state, op.source, target)
    elif (source := state.memory[op.source]) != target:
        copy_in_hbm(state.emitter, source, target)
    state.memory[op.result] = whole
