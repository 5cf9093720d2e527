"""Sorting rows that lie on the free axis, as they lie."""

from math import prod

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Engine
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    join,
    split_at,
)
from neuronir.passes.lowering.layouts.values import new_value, reshape
from neuronir.passes.lowering.layouts.views import chunks, walked
from neuronir.passes.lowering.rows.network import PADDING, Words, new_words, row_size, sort_words
from neuronir.passes.lowering.rows.top import form_of_rows
from neuronir.passes.lowering.state import Lowering


def sort_form(emitter: Emitter, form: Form, whole: Atom, target: Form | None = None) -> Form:
    """A copy of s32 numbers with each row, along the digit `whole`, sorted: `target`, which lies on
    the same partitions, or a new buffer."""
    wanted = target or form
    rows = [
        b
        for a, _ in wanted.free
        for b in split_at(a, (whole.stride, whole.end)) or (a,)
        if b != whole
    ]
    count, size = prod(a.size for a in rows), row_size(whole.size)
    partitions = min(form.partitions, wanted.partitions)
    free = (*dense(rows, size), (whole, 1))

    def packed() -> tuple[Words, Form]:
        words = new_words(emitter, partitions, count * size)
        return words, Form(words.view.buffer, form.partition, join(free), copies=form.copies)

    def lies_so(other: Form) -> bool:
        return size == whole.size and join(other.free) == join(free)

    if lies_so(form):
        source = Words(form.at(0, partitions, ((1, count * size),)))
    else:
        source, where = packed()
        if whole.size < size:
            outer = [(size, count)] if count > 1 else []
            rest = source.part(whole.size, [*outer, (1, size - whole.size)])
            emitter.memset(rest, PADDING)
        _copy(emitter, form, where)
    if target is not None and lies_so(target):
        words, result = Words(target.at(0, partitions, ((1, count * size),))), target
    else:
        words, result = packed()
    sort_words(emitter, source, words, size, count * size)
    if target is None or result is target:
        return result
    _copy(emitter, result, target)
    return target


def _copy(emitter: Emitter, source: Form, target: Form) -> None:
    dims = walked([target, source], [a for a, _ in target.free])
    for piece in chunks(dims, target.partitions, 3, emitter.machine.max_free_psum):
        emitter.copy(piece.view(target, 0), piece.view(source, 1), Engine.DVE)


def lower_sort_rows(state: Lowering, op: CompositeOp) -> bool:
    """Lower a sort of rows, which it lays on the free axis."""
    form, n = form_of_rows(state, op.operands[0])
    shape = state.shape(op.results[0])
    result = new_value((prod(shape[:-1]), n), state.dtype(op.results[0]))
    result.forms.append(sort_form(state.emitter, form, atom(n, 1)))
    state.set(op.results[0], reshape(result, shape))
    return True
