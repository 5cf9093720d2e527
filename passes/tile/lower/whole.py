"""Lower ops as a whole with the rules of lower-hlo-to-nc, between arrays in HBM."""

from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, constant_array
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.tile.ops import ToIndexOp, UnfoldOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.evaluate import lazy_value
from neuronir.passes.lowering.conversion.memory import contiguous_in_hbm, holds, store
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.function import LOWERER, lower_op
from neuronir.passes.lowering.layouts.layout import Form, merge
from neuronir.passes.lowering.layouts.values import (
    Value,
    constant_value,
    new_value,
    scalar_value,
)
from neuronir.passes.lowering.rules.runtime_slices import register_of
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.tile.lower.concatenations import join_in_hbm
from neuronir.passes.tile.lower.margins import defer_pad, store_trimmed
from neuronir.passes.tile.lower.memory import home_in_hbm, result_in_hbm
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.unfold import unfolded
from neuronir.passes.tile.lower.values import Held, Number
from neuronir.passes.tile.numbers import number_of

_VIEWS = frozenset(("hlo.broadcast", "hlo.reshape", "hlo.bitcast", "hlo.transpose", "hlo.slice"))


def lower_whole(state: Lower, op: Operation) -> None:
    """Lower an op with its rule of lower-hlo-to-nc; operands and results are in HBM."""
    if isinstance(op, UnfoldOp):
        _unfold(state, op)
        return
    if isinstance(op, ToIndexOp):
        _to_index(state, op)
        return
    if op.name == "hlo.concatenate" and join_in_hbm(state, op):
        return
    if defer_pad(state, op):
        return
    if op.operands and op.operands[0] in state.trimmed:
        store_trimmed(state, op)
        return
    lowering = _lowering(state)
    for v in op.operands:
        value = lowering.values[v] = _operand(state, v)
        value.special |= v in state.special
    homes: dict[SSAValue, Form] = {}
    for r in op.results:
        if (home := home_in_hbm(state, r)) is not None:
            homes[r] = home
    lowering.results.homes = homes
    lowering.loops.streamed = {
        use.operation for r in op.results for use in r.uses
    }  # not computed here
    lower_op(lowering, op)
    for result in op.results:
        if not result.uses:
            continue
        value = lowering.value(result)
        form = value.hbm_form()
        plain = hbm_form(form.buffer, new_value(value.shape, value.dtype)) if form else None
        there = form is not None and form in (plain, homes.get(result))
        if form is None or not there or not holds(form, value):
            form = result_in_hbm(state, result)
            store(lowering, value, form)
        state.memory[result] = form


def _to_index(state: Lower, op: ToIndexOp) -> None:
    """Load a trip count into a register."""
    lowering = _lowering(state)
    lowering.values[op.source] = _operand(state, op.source)
    high = np.iinfo(np.int32).max
    state.indices.registers[op.index] = register_of(lowering, op.source, int(high))


def _unfold(state: Lower, op: UnfoldOp) -> None:
    value = _operand(state, op.source)
    memory = value.hbm_form()
    form = unfolded(memory, op) if memory is not None and holds(memory, value) else None
    if form is None:
        form = unfolded(contiguous_in_hbm(_lowering(state), value), op)
        assert form is not None  # a dimension of a row-major array has one stride
    state.memory[op.result] = form


def _lowering(state: Lower) -> Lowering:
    """Return a state of those rules that emits to the same block."""
    lowering = Lowering(state.converter, LOWERER)
    lowering.results.numbers = state.results
    lowering.results.written = state.written
    return lowering


def _operand(state: Lower, value: SSAValue) -> Value:
    shape, dtype = shape_of(value), state.dtype(value)
    if value in state.memory:
        return _varying(shape, dtype, state.memory[value])
    if value not in state.values and (array := _array(value)) is not None:
        return constant_value(array, dtype)
    found = state.get(value)
    if isinstance(found, Number):
        number = found.value if dtype.is_float else int(found.value)
        return scalar_value(shape, dtype, number)
    return _varying(shape, dtype, found.form if isinstance(found, Held) else state.held(value))


def _array(value: SSAValue) -> np.ndarray | None:
    """Return the array of a constant or of a view of one; None for other values and scalars."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return constant_array(op)
    if number_of(value) is not None or not isinstance(op, Operation) or op.name not in _VIEWS:
        return None
    source = _array(op.operands[0])
    return None if source is None else as_array(lazy_value(op, [source]))


def _varying(shape: tuple[int, ...], dtype: DType, form: Form) -> Value:
    """Return a value that varies along the digits of its copy."""
    atoms = sorted(form.atoms(), key=lambda a: -a.stride)
    return Value(shape, dtype, merge(a for a in atoms if a.stride < prod(shape)), [form])
