"""Place constants of phase `tiled` in the weight stream, or in a table in HBM."""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, lazy_constant
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.constants.bound import digits_of
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import new_value
from neuronir.passes.tile.lower.state import Lower


def constant_form(state: Lower, op: Operation, value: SSAValue) -> Form:
    """Emit an array constant in a layout, as a part of the weight stream."""
    array = as_array(lazy_constant(op)).reshape(-1)
    where, dtype = state.place(value), state.dtype(value)
    size = prod(shape_of(value))
    rows = [(a.size, a.stride if a.stride < size else 0) for a, _ in where.partition]
    free = [(a.size, a.stride) for a, _ in where.free]
    data = array[digits_of(rows)[:, None] + digits_of(free)]
    count = prod(n for n, _ in rows)
    buffer, offset = state.constants.place(data.astype(dtype.numpy), dtype, count)
    form = where.form(buffer, size, 0, offset)
    return Form(form.buffer, form.partition, form.free, 0, offset, dtype.name.lower(), form.copies)


def constant_in_hbm(state: Lower, op: ConstantOp) -> None:
    """Place a constant in a table in HBM, row by row, so that loops can load slices."""
    value = op.results[0]
    if value not in state.memory:
        shape, dtype = shape_of(value), state.dtype(value)
        array = as_array(lazy_constant(op)).astype(dtype.numpy)
        buffer = state.converter.hbm_constant(array, dtype, shape)
        state.memory[value] = hbm_form(buffer, new_value(shape, dtype))
