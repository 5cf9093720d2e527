"""Lower transposes that exchange digits of the free axis and of partitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense, meet, merge, span, split_at
from neuronir.passes.lowering.layouts.views import numbers_of, packed
from neuronir.passes.tile.layouts.conversions import Parts, Way
from neuronir.passes.tile.layouts.maps import positions
from neuronir.passes.tile.lower.columns import column_block
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.values import Held, Piece

MOST_COLUMNS = 4
"""Limit of digits that PE transposes at once: the dimensions of an access."""


def may_turn(form: Form, target: Form, how: Way) -> bool:
    """Return whether a copy can be transposed to a layout."""
    if form.start or form.partitions != max(1, positions(form.partition)):
        return False
    columns = dims_of(form, [a for a, _ in target.partition])
    most = MOST_COLUMNS if how is Way.TRANSPOSE else 2  # parts take a dimension, too
    if columns is None or len(columns) > most:
        return False
    return how is not Way.BLOCKS or len(columns) <= 1


@dataclass(frozen=True)
class Turn:
    """The tiles of a transpose: digits of their starts, rows and columns, and former partition
    digits.
    """

    rest: list[Atom]
    rows: int
    wide: int
    old: list[Atom]
    columns: list[tuple[int, int]]  # (stride, size) in the source

    @property
    def jobs(self) -> list[int]:
        """Return the start elements of the tiles."""
        return numbers_of(merge_in_order(self.rest))


def _turn(form: Form, target: Form) -> Turn:
    old, new = [a for a, _ in form.partition], [a for a, _ in target.partition]
    cuts = {c for a in (*old, *new) for c in (a.stride, a.end)}
    free = [b for a, _ in target.free for b in split_at(a, cuts) or (a,)]
    rest = [b for b in free if not any(n.stride <= b.stride and b.end <= n.end for n in old)]
    columns = dims_of(form, new)
    assert columns is not None
    return Turn(rest, form.partitions, span(target.partition), old, columns)


def transpose(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Transpose tile by tile with PE: free digits move to partitions and vice versa."""
    if dtype.size == 1:
        if dtype.is_float:  # as integers, which keep the sign of zero and NaN
            form, target = (replace(f, dtype=DType.U8.name.lower()) for f in (form, target))
        form, dtype = _widened(state, form), DType.BF16
    turn = _turn(form, target)
    rows, wide = turn.rows, turn.wide
    per_bank = max(1, state.machine.psum_bank_bytes // dtype.size // rows)
    for group in _runs([target], turn.jobs, per_bank):
        psum = state.psum(wide, len(group) * rows, dtype)
        for i, number in enumerate(group):
            out = replace(psum, free=((1, rows),), offset=i * rows)
            src = form.at(number, rows, turn.columns)
            state.emitter.emit("transpose", [out], [src], {}, Engine.PE)
        dims = dims_of(target, turn.old)
        assert dims is not None
        if len(group) > 1:
            dims.insert(0, (_step(target, group), len(group)))
        view = target.at(group[0], wide, dims)
        state.emitter.copy(view, replace(psum, free=packed([n for _, n in dims])))


class Transposed:
    """A value that PE transposes tile by tile, and that is read from PSUM."""

    def __init__(self, state: Lower, op: Operation, source: Form, form: Form) -> None:
        self.state = state
        self.source = source
        self.form = form
        self.op = op

    def pieces(self, others: Sequence[Form] = ()) -> Iterator[Piece]:
        """Compute the result one PSUM bank at a time."""
        state, turn = self.state, _turn(self.source, self.form)
        here = state.emitter.source
        most = max(1, state.machine.psum_bank_bytes // DType.F32.size // turn.rows)
        edges = self._edges()
        rest = [b for a in turn.rest for b in split_at(a, edges) or (a,)]
        order = sorted(rest, key=lambda a: -(self.form.stride(a) or 0))
        inner, beside = column_block(order, most)
        group = numbers_of(inner)
        for number in numbers_of(beside):
            psum = state.psum(turn.wide, len(group) * turn.rows, of=self.op)
            state.emitter.source = self.op
            for i, extra in enumerate(group):
                out = replace(psum, free=((1, turn.rows),), offset=i * turn.rows)
                tile = self.source.at(number + extra, turn.rows, turn.columns)
                state.emitter.emit("transpose", [out], [tile], {}, Engine.PE)
            state.emitter.source = here
            yield Piece(psum, number, (*inner, *turn.old))

    def _edges(self) -> set[int]:
        """Return where digits of the reader's other operands start and end.

        A piece must not cover parts of them: an operand may vary along some digits only.
        """
        result = self.op.results[0]
        others = {v for use in result.uses for v in use.operation.operands if v is not result}
        held = [v for v in map(self.state.values.get, others) if isinstance(v, Held)]
        return {c for v in held for a in v.form.atoms() for c in (a.stride, a.end)}


def transpose_parts(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Transpose values that PE would corrupt: some bits at a time, as integers."""
    parts = Parts.of(dtype, state.machine)
    form, target = as_parts(form, parts), as_parts(target, parts)
    turn = _turn(form, target)
    rows, wide = turn.rows, turn.wide
    dims = dims_of(target, turn.old)
    assert dims is not None
    columns = prod(n for _, n in turn.columns)
    across = [(1, parts.count)] if parts.count > 1 else []
    per_bank = max(1, state.machine.psum_bank_bytes // parts.kind.size // (rows * parts.count))
    for group in _runs([target, form], turn.jobs, per_bank):
        number, tiles = group[0], len(group) * parts.count
        buffer = state.emitter.sbuf(rows, tiles * columns, parts.kind)
        outer = [(_step(form, group), len(group))] if len(group) > 1 else []
        source = form.at(number, rows, [*outer, *across, *turn.columns])
        free = packed([n for _, n in source.free])
        state.emitter.copy(View(buffer, 0, rows, free, 0, (), 0, parts.kind.name.lower()), source)
        psum = state.psum(wide, tiles * rows, parts.kind)
        for i in range(tiles):
            out = replace(psum, free=((1, rows),), offset=i * rows)
            src = View(buffer, 0, rows, ((1, columns),), i * columns)
            state.emitter.emit("transpose", [out], [src], {}, Engine.PE)
        outer = [(_step(target, group), len(group))] if len(group) > 1 else []
        view = target.at(number, wide, [*outer, *across, *dims])
        state.emitter.copy(view, replace(psum, free=packed([n for _, n in view.free])))


def as_parts(form: Form, parts: Parts) -> Form:
    """Return a copy viewed as the parts of its values."""
    return replace(
        form,
        free=tuple((a, s * parts.count) for a, s in form.free),
        offset=form.offset * parts.count,
        dtype=parts.bits.name.lower(),
        indices=tuple((v, k * parts.count) for v, k in form.indices),
    )


def transpose_blocks(state: Lower, form: Form, target: Form, dtype: DType) -> None:
    """Transpose with DVE, in blocks of 32 x 32."""
    turn = _turn(form, target)
    dims = dims_of(target, turn.old) or [(1, 1)]
    for number in turn.jobs:
        view = target.at(number, turn.wide, dims)
        src = form.at(number, turn.rows, turn.columns or ((1, 1),))
        out = view
        if len(dims) > 1:  # a block has one stride
            buffer = state.emitter.sbuf(turn.wide, turn.rows, dtype)
            out = View(buffer, 0, turn.wide, ((1, turn.rows),), 0, (), 0, dtype.name.lower())
        state.converter.transpose_blocks(out, src, turn.wide, turn.rows)
        if len(dims) > 1:
            state.emitter.copy(view, replace(out, free=packed([n for _, n in dims])))


TURNS = {
    Way.TRANSPOSE: transpose,
    Way.PARTS: transpose_parts,
    Way.BLOCKS: transpose_blocks,
}
"""Return how digits of the free axis and of partitions are exchanged."""


def _widened(state: Lower, form: Form) -> Form:
    """Return a copy in bf16, which holds one-byte types exactly."""
    buffer = state.emitter.sbuf(form.partitions, max(1, form.elements), DType.BF16)
    wide = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
    copy(state, form, wide)
    return wide


def dims_of(form: Form, atoms: list[Atom]) -> list[tuple[int, int]] | None:
    """Return (stride, size) of free digits of a copy, split at its own digits; None if one is
    absent, or is no digit of a value that repeats: 86 of 129 elements.
    """
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    dims: list[tuple[int, int]] = []
    for whole in atoms:
        for a in split_at(whole, cuts) or (whole,):
            stride = form.stride(a)
            if stride is None or not _divides(a, form):
                return None
            if dims and dims[-1][0] == stride * a.size:
                dims[-1] = (stride, dims[-1][1] * a.size)
            else:
                dims.append((stride, a.size))
    return dims


def _divides(a: Atom, form: Form) -> bool:
    """Return whether the free digit of a copy of which `a` is a part is whole rounds of `a`."""
    return all(
        a.ragged or other.ragged or not meet(a, other) or other.end % a.end == 0
        for other, _ in form.free
    )


def merge_in_order(atoms: list[Atom]) -> tuple[Atom, ...]:
    """Return digits outermost first, with neighbours joined."""
    return merge(sorted(atoms, key=lambda a: -a.stride))


def _runs(forms: list[Form], jobs: list[int], most: int) -> list[list[int]]:
    """Group jobs at equal distances in all copies, as many as fit in a bank."""
    groups: list[list[int]] = []
    for number in jobs:
        if groups and len(groups[-1]) < most and _goes_on(forms, groups[-1], number):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def _goes_on(forms: list[Form], group: list[int], number: int) -> bool:
    if len(group) == 1:
        return True
    return all(
        form.locate(number)[1] - form.locate(group[-1])[1] == _step(form, group) for form in forms
    )


def _step(form: Form, group: list[int]) -> int:
    """Return the distance of the first two jobs of a group."""
    return form.locate(group[1])[1] - form.locate(group[0])[1]
