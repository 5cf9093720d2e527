"""Lower views of copies: broadcasts, reshapes, transposes and slices need no instruction."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, join, row_major, split_at
from neuronir.passes.tile.layouts.maps import everywhere, in_order, repeated
from neuronir.passes.tile.layouts.place import Place
from neuronir.passes.tile.layouts.views import see
from neuronir.passes.tile.lower.indices import Terms
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Held, Lazy, Number


@register_lowering("hlo.broadcast", "hlo.reshape", "hlo.bitcast", "hlo.transpose", "hlo.slice")
def lower_view(state: Lower, op: Operation) -> None:
    """Lower a view: the same copy with other numbering."""
    source, result = op.operands[0], op.results[0]
    if source in state.memory:
        state.memory[result] = view_form(op, state.memory[source])
        return
    if source not in state.values:
        return  # a scalar, or a constant that is not placed yet
    found = state.values[source]
    if isinstance(found, Number):
        state.values[result] = found
        return
    form = state.held(source) if isinstance(found, Lazy) else found.form
    state.values[result] = Held(view_form(op, form), state.dtype(source))


def view_form(op: Operation, form: Form) -> Form:
    """Return a copy seen through a view."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name == "hlo.slice":
        starts, steps = ints(op, "start_indices"), ints(op, "strides")
        found = slice_form(form, source, result, [(n, ()) for n in starts], steps)
        if found is None:
            raise NeuronError("NIR_TIL004", "a slice of a tile is not contiguous")
        return found
    partition = form.partition or everywhere(prod(source), form.copies)
    where = see(op, Place(partition, form.free))
    seen = where.form(form.buffer, prod(result), form.start, form.offset)
    return replace(seen, dtype=form.dtype, hbm=form.hbm, indices=form.indices)


def slice_form(
    form: Form,
    shape: Sequence[int],
    sizes: Sequence[int],
    offsets: Sequence[Terms],
    steps: Sequence[int] | None = None,
) -> Form | None:
    """Return the copy of a slice inside a copy of the whole.

    Returns None if it is not contiguous there, or if it moves along partitions.
    """
    cutter = _Cutter(shape, sizes, offsets, steps or [1] * len(shape))
    groups: list[list[tuple[Atom, int]]] = [[], []]
    start, offset, moved = form.start, form.offset, list(form.indices)
    again: list[tuple[int, int]] = []
    for chip, (group, pairs) in enumerate(zip(groups, (form.partition, form.free), strict=True)):
        for whole, step in pairs:
            if whole.stride >= max(1, prod(shape)):
                again.append((whole.size, step))
                continue
            parts = split_at(whole, cutter.cuts)
            if parts is None:
                return None
            for a in parts:
                each = step * (a.stride // whole.stride)
                found = cutter.part(a)
                if found is None:
                    return None
                kept, scale, digit, terms = found
                if kept is not None:
                    group.append((kept, each * scale))
                if chip == 0:
                    if terms:
                        return None
                    start += digit * each
                else:
                    offset += digit * each
                    moved += [(v, k * each) for v, k in terms]
    return replace(
        form,
        partition=in_order([*groups[0], *repeated(again, prod(sizes))], prod(sizes)),
        free=join(groups[1]),
        start=start,
        offset=offset,
        indices=tuple(moved),
        copies=1 if form.partition else form.copies,
    )


class _Cutter:
    """Cuts digits of dimensions to those of a slice."""

    def __init__(
        self,
        shape: Sequence[int],
        sizes: Sequence[int],
        offsets: Sequence[Terms],
        steps: Sequence[int],
    ) -> None:
        self.shape, self.sizes, self.offsets, self.steps = shape, sizes, offsets, steps
        self.old, self.new = row_major(shape), row_major(sizes)
        self.cuts = {c for s, n in zip(self.old, shape, strict=True) for c in (s, s * n)}

    def part(self, a: Atom) -> tuple[Atom | None, int, int, list[tuple[SSAValue, int]]] | None:
        """Return how a digit is sliced.

        The result is the digit of the slice (None for one position), the factor by which the old
        step grows, the start position, and the terms by which the start moves.
        """
        d = next(
            i
            for i, (s, n) in enumerate(zip(self.old, self.shape, strict=True))
            if n > 1 and s <= a.stride < s * n
        )
        unit, size = a.stride // self.old[d], self.sizes[d]
        reach = unit * a.size
        number, terms = self.offsets[d]
        top = reach == self.shape[d]
        if size == self.shape[d]:
            return atom(a.size, unit * self.new[d]), 1, 0, []
        if self.steps[d] != 1:
            if unit != 1 or not top or terms:
                return None
            return (atom(size, self.new[d]) if size > 1 else None), self.steps[d], number, []
        if any(k % min(unit, size) for _, k in terms) and not (unit == 1):
            return None
        if reach <= size and not top:
            if size % reach or number % reach or any(k % reach for _, k in terms):
                return None
            return atom(a.size, unit * self.new[d]), 1, 0, []
        if any(k % unit for _, k in terms):
            return None
        moves = [(v, k // unit) for v, k in terms]
        if unit < size:
            if size % unit or number % unit:
                return None
            kept = size // unit
            if not top and (terms or number % reach + size > reach):
                return None
            digit = number // unit if top else number // unit % a.size
            return (atom(kept, unit * self.new[d]) if kept > 1 else None), 1, digit, moves
        if unit == size or size == 1 or number % unit + size <= unit:
            if not top and terms:
                return None
            digit = number // unit if top else number // unit % a.size
            return None, 1, digit, moves
        return None
