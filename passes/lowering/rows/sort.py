"""Sort rows on the free axis in their layout."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.decompositions.row_networks import BITONIC, KEYS, LONGEST_PAIR, flag
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    divisor,
    join,
    split_at,
)
from neuronir.passes.lowering.layouts.values import new_value, reshape
from neuronir.passes.lowering.layouts.views import chunks, numbers_of, walked
from neuronir.passes.lowering.rows.network import (
    PADDING,
    SCALE,
    Masks,
    Words,
    new_masks,
    new_words,
    row_size,
    sort_pair_words,
    sort_words,
)
from neuronir.passes.lowering.rows.top import form_of_rows
from neuronir.passes.lowering.state import Lowering


def sort_form(
    emitter: Emitter,
    form: Form,
    whole: Atom,
    target: Form | None = None,
    bitonic: bool = False,
) -> Form:
    """Return a copy of s32 values with each row, along the digit `whole`, sorted.

    The copy is `target`, on the same partitions, or a new buffer. `bitonic` rows, of a power of two
    elements, are merged.
    """
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
        return words, Form(words.view.buffer, wanted.partition, join(free), copies=wanted.copies)

    ragged = any(a.ragged for a in rows)

    def lies_so(other: Form) -> bool:
        return not ragged and size == whole.size and join(other.free) == join(free)

    if lies_so(form):
        source = Words(form.at(0, partitions, ((1, count * size),)))
    else:
        source, where = packed()
        if ragged:  # the last rows are on fewer partitions
            emitter.memset(source.view, PADDING)
        elif whole.size < size:
            outer = [(size, count)] if count > 1 else []
            rest = source.part(whole.size, [*outer, (1, size - whole.size)])
            emitter.memset(rest, PADDING)
        _copy(emitter, form, where)
    if target is not None and lies_so(target):
        words, result = Words(target.at(0, partitions, ((1, count * size),))), target
    else:
        words, result = packed()
    sort_words(emitter, source, words, size, count * size, bitonic)
    if target is None or result is target:
        return result
    _copy(emitter, result, target)
    return target


Carried = tuple[Form, Form]
"""Copies of carried s32 words: source and destination."""


def sort_pair_forms(
    emitter: Emitter,
    high: Form,
    low: Form,
    whole: Atom,
    target: Form | None = None,
    carried: Sequence[Carried] = (),
    keys: Form | None = None,
    bitonic: bool = False,
) -> Form:
    """Return the second values of pairs of integers in fp32, sorted along the digit `whole`.

    The copy is `target`, on the same partitions, or a new buffer; `keys` receives the first values.
    `carried` is permuted in the same way. `bitonic` rows, of a power of two elements, are merged.
    """
    wanted = target or low
    ends = {c for f in (high, low, *sum(carried, ())) for a, _ in f.free for c in (a.stride, a.end)}
    rows = [
        b
        for a, _ in wanted.free
        for b in split_at(a, ends | {whole.stride, whole.end}) or (a,)
        if b != whole
    ]
    if target is None:
        partitions, every = min(high.partitions, low.partitions), [*rows, whole]
        buffer = emitter.sbuf(partitions, prod(a.size for a in every), DType.F32)
        target = Form(buffer, low.partition, join(dense(every)), copies=low.copies)
    if any(a.ragged for a in rows):
        _sort_ragged_pairs(emitter, high, low, rows, whole, target, carried, keys, bitonic)
        return target
    inner, outer = _some(rows, max(1, LONGEST_PAIR // row_size(whole.size)))
    masks = None
    if outer:  # one after the other: PSUM has no room for the masks of several
        partitions = min(f.partitions for f in (high, low, target))
        elements = prod(a.size for a in inner) * row_size(whole.size)
        masks = new_masks(emitter, partitions, elements)
    for number in numbers_of(outer):
        parts = [_part(f, number, [*inner, whole]) for f in (high, low, target)]
        others = [
            (_part(a, number, [*inner, whole]), _part(b, number, [*inner, whole]))
            for a, b in carried
        ]
        first = None if keys is None else _part(keys, number, [*inner, whole])
        mine = parts[0], parts[1], parts[2]
        _sort_some_pairs(emitter, *mine, inner, whole, others, first, bitonic, masks)
    return target


def _sort_ragged_pairs(
    emitter: Emitter,
    high: Form,
    low: Form,
    rows: Sequence[Atom],
    whole: Atom,
    target: Form,
    carried: Sequence[Carried],
    keys: Form | None,
    bitonic: bool,
) -> None:
    """Sort rows of which the last ones are on fewer partitions, in copies that fill them all."""
    digits = [*rows, whole]
    places = dense(digits)
    elements = prod(a.size for a in digits)
    plain = tuple((atom(a.size, stride), stride) for a, stride in places)

    def copy_of(form: Form, dtype: DType) -> Form:
        buffer = emitter.sbuf(form.partitions, elements, dtype)
        return Form(buffer, form.partition, join(places), copies=form.copies)

    def filled(form: Form) -> Form:
        return replace(form, free=join(plain))

    sources = [(high, DType.F32), (low, DType.F32), *((form, DType.I32) for form, _ in carried)]
    copies = []
    for form, dtype in sources:
        copy = copy_of(form, dtype)
        emitter.memset(copy.at(0, copy.partitions, ((1, elements),)), 0.0)
        _copy(emitter, form, copy)
        copies.append(filled(copy))
    results = [(copy_of(target, DType.F32), target)]
    results += [(copy_of(out, DType.I32), out) for _, out in carried]
    first, *others = (filled(copy) for copy, _ in results)
    pairs = list(zip(copies[2:], others, strict=True))
    sorted_keys = None
    if keys is not None:
        results.append((copy_of(keys, DType.F32), keys))
        sorted_keys = filled(results[-1][0])
    row = atom(whole.size, 1)
    sort_pair_forms(emitter, copies[0], copies[1], row, first, pairs, sorted_keys, bitonic)
    for copy, out in results:
        _copy(emitter, copy, out)


def _some(rows: Sequence[Atom], most: int) -> tuple[list[Atom], list[Atom]]:
    """Split digits of rows into those processed together, up to a limit, and the others."""
    inner: list[Atom] = []
    outer = list(rows)
    while outer and most > 1:
        a = outer.pop()
        size = divisor(a.size, most)
        if size > 1:
            inner.insert(0, atom(size, a.stride))
            most //= size
        if size < a.size:
            outer.append(atom(a.size // size, a.stride * size))
            break
    return inner, outer


def _part(form: Form, number: int, digits: Sequence[Atom]) -> Form:
    """Return the part of a copy that varies along some free digits, from an element on."""
    free = tuple((a, form.whole_stride(a)) for a in digits)
    return replace(form, free=join(free), offset=form.locate(number)[1])


def _sort_some_pairs(
    emitter: Emitter,
    high: Form,
    low: Form,
    target: Form,
    rows: Sequence[Atom],
    whole: Atom,
    carried: Sequence[Carried],
    keys: Form | None,
    bitonic: bool,
    masks: Masks | None,
) -> None:
    count, size = prod(a.size for a in rows), row_size(whole.size)
    # rows of repeated keys may lie on more partitions than those of the result
    partitions = min(high.partitions, low.partitions, target.partitions)

    def packed(dtype: DType = DType.F32) -> tuple[Words, Form]:
        words = new_words(emitter, partitions, count * size, dtype)
        free = join((*dense(rows, size), (whole, 1)))
        return words, Form(words.view.buffer, target.partition, free, copies=target.copies)

    sources = []
    moved = []
    all_of = [(high, float(2**23), DType.F32), (low, 0.0, DType.F32)]
    all_of += [(form, 0.0, DType.I32) for form, _ in carried]
    for form, filler, dtype in all_of:
        words, where = packed(dtype)
        if whole.size < size:
            outer = [(size, count)] if count > 1 else []
            emitter.memset(words.part(whole.size, [*outer, (1, size - whole.size)]), filler)
        _copy(emitter, form, where)
        sources.append(words)
        moved.append(where)
    every = sources[0].view
    emitter.tensor_scalar(every, every, AluOp.MULTIPLY, SCALE)
    words, result = packed()
    first, second, *others = sources
    key_words, key_form = packed() if keys is not None else (None, None)
    sort_pair_words(
        emitter, (first, second), words, size, count * size, others, key_words, bitonic, masks
    )
    _copy(emitter, result, target)
    if keys is not None and key_words is not None and key_form is not None:
        view = key_words.view
        emitter.tensor_scalar(view, view, AluOp.MULTIPLY, 1 / SCALE)
        _copy(emitter, key_form, keys)
    for where, (_, out) in zip(moved[2:], carried, strict=True):
        _copy(emitter, where, out)


def _copy(emitter: Emitter, source: Form, target: Form) -> None:
    dims = walked([target, source], [a for a, _ in target.free])
    for piece in chunks(dims, target.partitions, 3, emitter.machine.max_free_psum):
        emitter.copy(piece.view(target, 0), piece.view(source, 1), Engine.DVE)


def lower_sort_rows(state: Lowering, op: CompositeOp) -> bool:
    """Lower a sort of rows, which are moved to the free axis."""
    form, n = form_of_rows(state, op.operands[0])
    shape = state.shape(op.results[0])
    result = new_value((prod(shape[:-1]), n), state.dtype(op.results[0]))
    merged = flag(op.params, BITONIC)
    result.forms.append(sort_form(state.emitter, form, atom(n, 1), bitonic=merged))
    state.set(op.results[0], reshape(result, shape))
    return True


def part_of_rows(form: Form, width: int, n: int, which: int) -> Form:
    """Return part `which` of rows of `width` elements as rows of `n` elements."""

    def narrower(a: Atom) -> Atom:
        return Atom(a.size, a.stride // width * n, a.unit // width * n, a.extent)

    step = form.stride(atom(width, 1))
    if step is None:
        raise NeuronError("NIR_LOW003", "a row is not contiguous")
    partition = tuple((narrower(a), s) for a, s in form.partition)
    rows = [b for a, _ in form.free for b in split_at(a, (width,)) or (a,) if b.stride >= width]
    free = join([*((narrower(a), form.whole_stride(a)) for a in rows), (atom(n, 1), step)])
    return replace(form, partition=partition, free=free, offset=form.offset + which * n * step)


def lower_sort_pairs(state: Lowering, op: CompositeOp) -> bool:
    """Lower a sort of rows of pairs, which are moved to the free axis.

    The keys and carried operands follow the second values in the result.
    """
    (high, n), (low, _), *others = (form_of_rows(state, v) for v in op.operands)
    *front, width = state.shape(op.results[0])
    dtype = state.dtype(op.results[0])
    result = new_value((prod(front), width), dtype)

    def wider(a: Atom) -> Atom:
        return Atom(a.size, a.stride // n * width, a.unit // n * width, a.extent)

    rows = [b for a, _ in low.free for b in split_at(a, (n,)) or (a,) if b.stride >= n]
    free = [*(wider(a) for a in rows), atom(width, 1)]
    buffer = state.emitter.sbuf(low.partitions, prod(a.size for a in free), dtype)
    mine = tuple((wider(a), step) for a, step in low.partition)
    out = Form(buffer, mine, join(dense(free)), copies=low.copies)
    sort_columns(state.emitter, op, high, low, [form for form, _ in others], out)
    result.forms.append(out)
    state.set(op.results[0], reshape(result, (*front, width)))
    return True


def sort_columns(
    emitter: Emitter,
    op: CompositeOp,
    high: Form,
    low: Form,
    carried: Sequence[Form],
    out: Form,
) -> None:
    """Sort rows of pairs into a copy of rows of the second values, the keys if the composite `op`
    returns them, and the carried operands.
    """
    keys, bitonic = flag(op.params, KEYS), flag(op.params, BITONIC)
    count = 1 + keys + len(carried)
    width = shape_of(op.results[0])[-1]
    n = width // count
    target, *others = (part_of_rows(out, width, n, k) if count > 1 else out for k in range(count))
    first = others.pop(0) if keys else None
    pairs = list(zip(carried, others, strict=True))
    sort_pair_forms(emitter, high, low, atom(n, 1), target, pairs, first, bitonic)
