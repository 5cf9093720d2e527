"""Represent values during lowering: a logical tensor, its physical copies, and views."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dim_atoms,
    merge,
    row_major,
    split_at,
)

Partition = tuple[tuple[Atom, int], ...]
Parts = list[tuple[Atom, int]]
"""Parts of an atom in another numbering, outermost first, each with its multiple of the atom's
step.
"""


@dataclass(eq=False)
class Value:
    """A tensor of `shape`: its copies so far, or the source of which it is a view.

    `support` are the atoms along which it varies. `scalar` is set if all elements are one known
    value. `array` holds a constant (logical shape). A view has a `source` and maps atoms of its own
    numbering to the source's (`to_source`) and back (`from_source`); either returns None if an atom
    is not whole on the other side. `lazy` is (value, scale, bias): a deferred value * scale + bias
    that another instruction can include. `once` marks a parameter with one use, such as a weight.
    `special`: the program itself introduced infinities or NaN. `by_rows`: it arrives row by row, so
    that processing it in such pieces is better.
    """

    shape: tuple[int, ...]
    dtype: DType
    support: tuple[Atom, ...]
    forms: list[Form] = field(default_factory=list)
    scalar: float | int | None = None
    array: np.ndarray | None = None
    source: "Value | None" = None
    from_source: Callable[[Form], Form | None] | None = None
    to_source: Callable[[Atom], Parts | None] | None = None
    lazy: "tuple[Value, float, float] | None" = None
    once: bool = False
    special: bool = False
    by_rows: bool = False

    @property
    def size(self) -> int:
        """Return the elements of the logical tensor."""
        return prod(self.shape)

    def may_be_special(self) -> bool:
        """Return whether the program introduces infinities or NaN, which PE transposes spread."""
        if self.special or (self.lazy is not None and self.lazy[0].may_be_special()):
            return True
        return self.source is not None and self.source.may_be_special()

    def hbm_form(self) -> Form | None:
        """Return its copy in HBM, if there is one."""
        for form in self.forms:
            if form.hbm:
                return form
        return None

    def rounds(self) -> bool:
        """Return whether it is a view that rounds floats, so that a copy of its source in another
        type has other values.
        """
        if self.source is None:
            return False
        mine, base = self.dtype, self.source.dtype
        narrows = mine is not base and mine.size <= base.size and mine.is_float and base.is_float
        return narrows or self.source.rounds()

    def root(self) -> "Value":
        """Return the base of a view, through all views."""
        value = self
        while value.source is not None:
            value = value.source
        return value


def new_value(shape: Sequence[int], dtype: DType) -> Value:
    """Create a value that varies along all its dimensions."""
    return Value(tuple(shape), dtype, merge(dim_atoms(shape, range(len(shape)))))


def scalar_value(shape: Sequence[int], dtype: DType, scalar: float | int) -> Value:
    """Create a value whose elements are all one known value."""
    return Value(tuple(shape), dtype, (), scalar=scalar)


def constant_value(array: np.ndarray, dtype: DType) -> Value:
    """Create a constant."""
    value = new_value(array.shape, dtype)
    value.array = array
    if array.size and array.size == 1:
        return scalar_value(array.shape, dtype, array.reshape(-1)[0].item())
    return value


def restride(
    source: Value,
    shape: Sequence[int],
    support: tuple[Atom, ...],
    map_atom: Callable[[Atom], Parts | None],
    back: Callable[[Atom], Parts | None],
) -> Value:
    """Create a view whose atoms are those of `source` renamed by `map_atom`.

    For an atom of the source, `map_atom` returns its parts in the view's numbering (outermost
    first), each with its multiple of the source atom's stride.
    """

    def forward(form: Form) -> Form | None:
        groups: list[list[tuple[Atom, int]]] = [[], []]
        for group, pairs in zip(groups, (form.partition, form.free), strict=True):
            for a, step in pairs:
                parts = map_atom(a)
                if parts is None:
                    return None
                group.extend((part, step * k) for part, k in parts)
        return Form(
            form.buffer,
            tuple(groups[0]),
            tuple(groups[1]),
            form.start,
            form.offset,
            form.dtype,
            form.copies,
            form.hbm,
            form.indices,
        )

    return Value(
        tuple(shape),
        source.dtype,
        support,
        scalar=source.scalar,
        source=source,
        from_source=forward,
        to_source=back,
    )


def reshape(source: Value, shape: Sequence[int]) -> Value:
    """Create a view of another shape with the same element numbering."""
    return restride(source, shape, source.support, lambda a: [(a, 1)], lambda a: [(a, 1)])


def rename_dims(source: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
    """Create a view whose dimension `dims[i]` is dimension i of the source (transpose,
    broadcast).
    """
    old_strides = row_major(source.shape)
    new_strides = row_major(shape)

    def renamer(
        from_shape: Sequence[int],
        from_strides: Sequence[int],
        to_strides: Sequence[int],
        pairs: Sequence[tuple[int, int]],
    ) -> Callable[[Atom], Parts | None]:
        cuts = sorted(
            {from_strides[i] for i, _ in pairs}
            | {from_strides[i] * from_shape[i] for i, _ in pairs}
        )

        def apply(a: Atom) -> list[tuple[Atom, int]] | None:
            parts = split_at(a, cuts)
            if parts is None:
                return None
            out: list[tuple[Atom, int]] = []
            for part in parts:
                new = rename(part, from_shape, from_strides, to_strides, pairs)
                if new is None:
                    return None
                out.append((new, part.stride // a.stride))
            return out

        return apply

    pairs = [(i, d) for i, d in enumerate(dims) if source.shape[i] != 1]
    forward = renamer(source.shape, old_strides, new_strides, pairs)
    inverse = renamer(shape, new_strides, old_strides, [(d, i) for i, d in pairs])

    support: list[Atom] = []
    for a in source.support:
        parts = forward(a)
        if parts is None:  # the support does not divide the dimension: take all of it
            parts = [(b, 1) for b in dim_atoms(shape, [d for _, d in pairs])]
        support.extend(part for part, _ in parts)
    support.sort(key=lambda a: -a.stride)
    return restride(source, shape, merge(support), forward, inverse)


def rename(
    a: Atom,
    from_shape: Sequence[int],
    from_strides: Sequence[int],
    to_strides: Sequence[int],
    pairs: Sequence[tuple[int, int]],
) -> Atom | None:
    """Map an atom to another shape; `pairs` (i, d) map its dimension i to dimension d.

    Returns None if the atom is in none of them.
    """
    for i, d in pairs:
        low, high = from_strides[i], from_strides[i] * from_shape[i]
        # otherwise its digits continue from one position of d to the next
        whole = high % a.reach == 0
        if low <= a.stride and a.reach <= high and a.unit % low == 0 and whole:
            scale = to_strides[d]
            return Atom(a.size, a.stride // low * scale, a.unit // low * scale, a.extent)
    return None


def slice_value(
    source: Value, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]
) -> Value:
    """Create a view of a rectangle of the source; forms that split its cut dimensions do not
    map.
    """
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True))
    old = row_major(source.shape)
    new = row_major(shape)
    base = sum(a * o for a, o in zip(starts, old, strict=True))
    cuts = sorted(set(old) | {o * n for o, n in zip(old, source.shape, strict=True)})
    dims = [d for d in range(len(shape)) if source.shape[d] != 1]

    def forward(form: Form) -> Form | None:
        groups: list[list[tuple[Atom, int]]] = [[], []]
        for group, pairs in zip(groups, (form.partition, form.free), strict=True):
            for whole, step in pairs:
                parts = split_at(whole, cuts)
                if parts is None:
                    return None
                for a in parts:
                    mapped = _cut(a, dims, source.shape, shape, old, new, starts, steps)
                    if mapped is None:
                        return None
                    b, k = mapped
                    if b.size > 1:
                        group.append((b, step * (a.stride // whole.stride) * k))
        start, offset = form.locate(base)
        return Form(
            form.buffer,
            tuple(groups[0]),
            tuple(groups[1]),
            start,
            offset,
            form.dtype,
            form.copies,
            form.hbm,
            form.indices,
        )

    def back(a: Atom) -> Parts | None:
        for d in dims:
            low, high = new[d], new[d] * shape[d]
            inside = low <= a.stride and a.end <= high
            divides = a.stride % low == 0 == high % a.end
            if shape[d] != 1 and inside and divides and not a.ragged:
                whole = shape[d] == source.shape[d]
                reach = a.end // low
                inner = steps[d] == 1 and starts[d] % reach == 0 == source.shape[d] % reach
                if whole or inner:
                    return [(atom(a.size, a.stride // low * old[d]), 1)]
        return None

    parts: list[Atom] = []
    for a in source.support:
        for b in split_at(a, cuts) or (a,):
            for d in dims:
                if b.stride < old[d] * source.shape[d] and old[d] < b.end and shape[d] != 1:
                    parts.append(atom(shape[d], new[d]))
    unique = sorted(set(parts), key=lambda a: -a.stride)
    view = Value(
        shape,
        source.dtype,
        merge(unique),
        scalar=source.scalar,
        source=source,
        from_source=forward,
        to_source=back,
    )
    if source.array is not None:
        index = tuple(slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True))
        view.array = source.array[index]
    return view


def _cut(
    a: Atom,
    dims: Sequence[int],
    old_shape: Sequence[int],
    shape: Sequence[int],
    old: Sequence[int],
    new: Sequence[int],
    starts: Sequence[int],
    steps: Sequence[int],
) -> tuple[Atom, int] | None:
    """Return the part of atom `a` that a slice keeps, and its multiple of a's step."""
    for d in dims:
        low, high = old[d], old[d] * old_shape[d]
        if not (low <= a.stride and a.reach <= high):
            continue
        if a.stride % low:
            return None
        if shape[d] == old_shape[d] and steps[d] == 1:
            return Atom(a.size, a.stride // low * new[d], a.unit // low * new[d], a.extent), 1
        if shape[d] == 1:
            return atom(1, new[d]), 1
        if a.ragged:
            return None
        width = a.stride // low  # positions of the dimension below this digit
        reach = a.end // low
        if width == 1 and reach == old_shape[d]:
            return atom(shape[d], new[d]), steps[d]
        if steps[d] != 1:
            return None
        first, last = starts[d], starts[d] + shape[d] - 1
        if first // reach == last // reach and first % width == 0 and shape[d] % width == 0:
            # the whole piece is in one repetition of this digit
            return atom(shape[d] // width, width * new[d]), 1
        if width == 1 and reach < old_shape[d] and first % reach == 0 and shape[d] % reach == 0:
            return atom(a.size, new[d]), 1
        if first % reach == 0 and shape[d] % reach == 0:
            return atom(a.size, width * new[d]), 1
        if first // width == last // width:
            return atom(1, width * new[d]), 1
        return None
    return None
