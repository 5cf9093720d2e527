"""Provide values as row-major arrays in HBM, for accesses that no on-chip layout serves."""

from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.conversion.by_rows import rows_first
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.emitter import Emitter, view_dtype
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.natural import in_dimensions
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.layouts.views import chunks, dma_reaches, plan, walked
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.streaming.size import SEED_SHARE

FILLED_BYTES = 8192
"""Bytes of a partition that hold a number, from where an array in HBM is filled."""


def holds(form: Form, value: Value) -> bool:
    """Return whether a copy has the value's type: parameters may differ, because loads convert."""
    return view_dtype(form.at(0, 1, ())) is value.dtype


def row_major_in_hbm(state: Lowering, value: Value) -> Form | None:
    """Return a row-major copy of a value in HBM in its type, if there is one."""
    for form in state.converter.source_forms(value):
        if form.hbm and is_dense(form, value) and holds(replace(form, dtype=""), value):
            return form
    return None


def contiguous_in_hbm(state: Lowering, value: Value) -> Form:
    """Return a row-major copy of a value in HBM, in a buffer of the value's type, at an address
    that does not depend on loops and registers.

    Readers of its rows use the type of the buffer.
    """
    found = row_major_in_hbm(state, value)
    if found is not None and not found.indices:
        return found
    if value.array is not None or value.scalar is not None:
        # Separately: for a slice of a constant the converter finds a view of the whole, with gaps.
        alone = Value(value.shape, value.dtype, value.support, [], value.scalar, value.array)
        form = state.converter.in_hbm(alone)
        value.forms.append(form)
        return form
    fresh = new_value(value.shape, value.dtype)
    buffer = state.emitter.variable("scratch", "scratch", value.shape, value.dtype)
    target = hbm_form(buffer, fresh)
    write_all(state, value, target)
    value.forms.append(target)
    return target


def result_in_hbm(state: Lowering, ssa: SSAValue) -> Form:
    """Return where a result in HBM goes: its home, the output variable, or a scratch variable."""
    if ssa in state.results.homes:
        return state.results.homes[ssa]
    shape, dtype = state.shape(ssa), state.dtype(ssa)
    numbers = state.results.numbers.get(ssa)
    if numbers and numbers[0] not in state.results.written:
        index = numbers[0]
        buffer = state.emitter.variable(f"out{index}", "output", shape, dtype, index=index)
        state.results.written.add(index)
    else:
        buffer = state.emitter.variable("scratch", "scratch", shape, dtype)
    return hbm_form(buffer, new_value(shape, dtype))


def write_all(state: Lowering, value: Value, target: Form) -> None:
    """Write a value to a row-major form in HBM, from the chip if a form of it is there."""
    if value.scalar is not None and not fits(state, value) and is_dense(target, value):
        fill(state.emitter, float(value.scalar), value, target)
        return
    on_chip = any(not form.hbm for form in value.forms)
    source = None if on_chip else row_major_in_hbm(state, value)
    if source is None or prod(a.size for a, _ in target.free) != value.size:
        store(state, value, target)
    elif source != target:
        copy_in_hbm(state.emitter, source, target)


def store(state: Lowering, value: Value, target: Form) -> None:
    """Write `value` to an HBM form, from an on-chip copy."""
    converter = state.converter
    value = full_value(state, value)
    form = next((f for f in converter.source_forms(value) if not f.hbm), None)
    if form is None and not fits(state, value) and copied_in_hbm(state, value, target):
        return
    if form is None:
        partition = state.default_partition(value.support)
        form = converter.ensure(value, partition)
    if not dma_reaches(form, target):  # its factors cross the rows of its position in an array
        dims = range(len(value.shape))
        form = converter.ensure(value, in_dimensions(value.shape, dims, state.machine.partitions))
        form = converter.by_dimensions(value, form)
    elif form.usable:
        rows = rows_first(state.machine, value, target, state.partition_of(form))
        if rows is not None:
            form = converter.ensure(value, rows)
    converter.transfer(target, form, load=False)


def fits(state: Lowering, value: Value) -> bool:
    """Return whether a value takes only a small part of SBUF."""
    machine = state.machine
    whole = machine.sbuf_usable_partition_bytes * machine.partitions
    return value.size * value.dtype.size * SEED_SHARE <= whole


def copied_in_hbm(state: Lowering, value: Value, target: Form) -> bool:
    """Copy a value in any order within HBM; return False if it has another order or type there."""
    for form in state.converter.source_forms(value):
        if not form.hbm or view_dtype(form.at(0, 1, ())) is not value.dtype:
            continue
        dims = plan([target, form], [a for a, _ in target.free])
        if dims is not None and len(dims) < state.machine.dma_max_dims:
            copy_in_hbm(state.emitter, form, target)
            return True
    return False


def copy_in_hbm(emitter: Emitter, source: Form, target: Form) -> None:
    """Copy an array within HBM."""
    dims = walked([target, source], [a for a, _ in target.free])
    for piece in chunks(dims, 1, emitter.machine.dma_max_dims - 1, 1 << 40):
        emitter.dma(piece.view(target, 0), piece.view(source, 1))


def is_dense(form: Form, value: Value) -> bool:
    """Return whether a form in HBM is a row-major array of the value's size, and no part of one."""
    return (
        all(stride == a.stride for a, stride in form.free)
        and prod(a.size for a, _ in form.free) == value.size
    )


def fill(emitter: Emitter, number: float, value: Value, target: Form) -> None:
    """Fill a dense array in HBM with a number, again and again from one tile of it in SBUF."""
    partitions, size = emitter.machine.partitions, FILLED_BYTES // value.dtype.size
    tile = emitter.sbuf(partitions, size, value.dtype)
    emitter.memset(View(tile, 0, partitions, ((1, size),)), number)
    each = value.size // partitions
    whole, rest, last = each // size, each % size, value.size % partitions
    for offset, rows, stride, free in (
        (0, partitions, each, ((size, whole), (1, size))),
        (whole * size, partitions, each, ((1, rest),)),
        (each * partitions, 1, 0, ((1, last),)),
    ):
        if prod(n for _, n in free):
            source = tuple((s if s == 1 else 0, n) for s, n in free)
            dst = View(target.buffer, 0, rows, free, target.offset + offset, target.indices, stride)
            emitter.dma(dst, View(tile, 0, rows, source))
