"""Find the largest elements of rows on the free axis, eight at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.decompositions.row_codes import STEPS
from neuronir.passes.hlo.decompositions.row_tops import TOP_CODES
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, dense, join, span, split_at
from neuronir.passes.lowering.layouts.natural import in_dimensions
from neuronir.passes.lowering.layouts.values import new_value, reshape
from neuronir.passes.lowering.layouts.views import numbers_of, walked
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.state import Lowering

EIGHT = 8
"""Elements that an instruction finds."""


@dataclass(frozen=True)
class TopRow:
    """One row on each partition: its elements, in one dimension, and the destination.

    The destination has room for the values and for their positions.
    """

    elements: View
    values: View
    places: View


def take_largest(emitter: Emitter, rows: Sequence[TopRow], codes: bool) -> None:
    """Write the k largest fp32 values of each row, descending, and their positions (fp32).

    With `codes`, elements are replaced by their codes, and may be NaN or infinite.
    Of equal values the first come first. Rows have 8 to 16384 elements. Values are neither NaN nor
    -inf.
    """
    for row in rows:
        _largest(emitter, row, codes)


def _coded(emitter: Emitter, elements: View, target: View) -> View:
    """Write the codes of elements to a target, in 32-bit integers, and return the target."""
    here, there = replace(elements, dtype="i32"), replace(target, dtype="i32")
    for i in range(0, len(STEPS), 2):
        (op0, a), (op1, b) = STEPS[i : i + 2]
        emitter.tensor_scalar(there, here, AluOp[op0], a, AluOp[op1], b, engine=Engine.POOL)
        here = there
    return target


def _largest(emitter: Emitter, row: TopRow, codes: bool) -> None:
    partitions, ((_, k),) = row.values.partitions, row.values.free
    length = prod(n for _, n in row.elements.free)
    wide = -(-k // EIGHT) * EIGHT
    best = View(emitter.sbuf(partitions, wide, DType.F32), 0, partitions, ((1, EIGHT),))
    where = View(emitter.sbuf(partitions, wide, DType.U32), 0, partitions, ((1, EIGHT),))
    here = row.elements
    # Two buffers in turn: an instruction must not overwrite elements that it still reads.
    rests: list[View] = []

    def other() -> View:
        if len(rests) < 2:
            buffer = emitter.sbuf(partitions, length, DType.F32)
            rests.append(View(buffer, 0, partitions, ((1, length),)))
            return rests[-1]
        return rests[here is rests[0]]

    if codes:
        here = _coded(emitter, here, other())
    for first in range(0, wide, EIGHT):
        found = replace(best, offset=first)
        emitter.emit("max8", [found], [here], {}, Engine.DVE)
        at = replace(where, offset=first)
        emitter.emit("find_index8", [at], [here, found], {}, Engine.DVE)
        if first + EIGHT < wide:
            rest = other()
            params = {"value": float("-inf")}
            emitter.emit("match_replace8", [rest], [here, found], params, Engine.DVE)
            here = rest
    emitter.copy(row.values, replace(best, free=((1, k),)), Engine.DVE)
    emitter.copy(row.places, replace(where, free=((1, k),)), Engine.DVE)


def top_of_form(
    emitter: Emitter, form: Form, n: int, target: Form, width: int, k: int, codes: bool
) -> None:
    """Write the `k` largest of each row of `n` elements of a copy to one with rows of `width`.

    Both are on the same partitions. The positions follow the values, or their codes with `codes`.
    """
    front = [b for a, _ in form.free for b in split_at(a, (n,)) or (a,) if b.stride >= n]
    partitions = min(form.partitions, target.partitions)
    inside, step = walked([form], [atom(n, 1)]), target.stride(atom(width, 1))
    if step is None:
        raise NeuronError("NIR_LOW003", "a row is not contiguous")
    rows = []
    for number in numbers_of(front):
        elements = form.at(number, partitions, [(d.strides[0], d.size) for d in inside])
        out = target.at(number // n * width, partitions, ((step, k),))
        rows.append(TopRow(elements, out, replace(out, offset=out.offset + k * step)))
    take_largest(emitter, rows, codes)


def lower_top(state: Lowering, op: CompositeOp) -> bool:
    """Lower top_rows or top_codes, with the rows on the free axis."""
    form, n = form_of_rows(state, op.operands[0])
    *front, width = state.shape(op.results[0])
    count = op.params.data["k"]
    assert isinstance(count, IntegerAttr)

    def narrower(a: Atom) -> Atom:
        return Atom(a.size, a.stride // n * width, a.unit // n * width, a.extent)

    mine = tuple((narrower(a), step) for a, step in form.partition)
    rows = [b for a, _ in form.free for b in split_at(a, (n,)) or (a,) if b.stride >= n]
    free = [*(narrower(a) for a in rows), atom(width, 1)]
    buffer = state.emitter.sbuf(form.partitions, prod(a.size for a in free), DType.F32)
    out = Form(buffer, mine, join(dense(free)), copies=form.copies)
    codes = op.kind.data == TOP_CODES
    top_of_form(state.emitter, form, n, out, width, int(count.value.data), codes)
    made = new_value((prod(front), width), DType.F32)
    made.forms.append(out)
    state.set(op.results[0], reshape(made, (*front, width)))
    return True


def form_of_rows(state: Lowering, ssa: SSAValue) -> tuple[Form, int]:
    """Return a copy of a value with its rows (the last dimension) on the free axis, and their
    length.
    """
    value = full_value(state, state.value(ssa))
    *front, n = value.shape
    flat = reshape(value, (prod(front), n))
    partition = in_dimensions(flat.shape, [0], state.machine.partitions)
    form = state.converter.ensure(flat, partition, span(partition))
    return state.converter.by_dimensions(flat, form), n
