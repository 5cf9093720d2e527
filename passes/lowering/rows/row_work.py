"""Represent rows of a value on the free axis, for softmax and norms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    join,
    meet,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import Chunk, Dim, chunks, plan
from neuronir.passes.lowering.rules.reduce import reduction_layout
from neuronir.passes.lowering.state import Lowering

_SOURCE, _NUMBER, _RESULT = range(3)


@dataclass(frozen=True)
class Rows:
    """A value with its rows on the free axis of `form`.

    `outer` are the atoms that number the rows of a partition, `inner` those of a row. `walk` and
    `dims` describe how to traverse them in `form`, in buffers with one value per row, and in
    results.
    """

    state: Lowering
    form: Form
    outer: tuple[Atom, ...]
    inner: tuple[Atom, ...]
    walk: tuple[Dim, ...]
    dims: tuple[Dim, ...]
    first: int = 0  # first element, of a part of all rows
    by_rows: bool = False  # whether the value arrives row by row

    @property
    def count(self) -> int:
        """Return the rows of a partition."""
        return prod(a.size for a in self.outer)

    @property
    def length(self) -> int:
        """Return the elements of a row."""
        return prod(d.size for d in self.dims)

    @property
    def partitions(self) -> int:
        """Return the partitions that hold rows."""
        return self.form.partitions

    def numbers(self, width: int = 1, space: Space = Space.SBUF) -> Form:
        """Allocate a float32 buffer with `width` values per row."""
        emitter, size = self.state.emitter, self.count * width
        if space is Space.PSUM:
            buffer = emitter.psum(self.partitions, size)
        else:
            buffer = emitter.sbuf(self.partitions, size, DType.F32)
        return Form(buffer, self.form.partition, join(dense(self.outer, width)))

    def result(self, dtype: DType) -> Form:
        """Allocate a buffer for a value with the same rows."""
        atoms = (*self.outer, *self.inner)
        buffer = self.state.emitter.sbuf(self.partitions, prod(a.size for a in atoms), dtype)
        return Form(buffer, self.form.partition, join(dense(atoms)))

    def each(self) -> Iterator[Chunk]:
        """Yield the rows one by one, on all partitions at once."""
        yield from chunks(self.walk, self.partitions, 0, 1)

    def groups(self, limit: int) -> Iterator[Chunk]:
        """Yield several rows at a time, at most `limit` elements of a partition (at least one
        row).
        """
        room = 3 - len(self.dims)
        yield from chunks(self.walk, self.partitions, room, max(1, limit // self.length))

    def together(self) -> Iterator[Chunk]:
        """Yield all rows at once, for per-row values; one by one if they arrive like that."""
        if self.by_rows:
            yield from self.each()
            return
        yield from chunks(self.walk, self.partitions, 3, self.state.machine.max_free_psum)

    def source(self, chunk: Chunk) -> View:
        """Return the elements of some rows."""
        return self._elements(self.form, chunk, _SOURCE)

    def of(self, form: Form, chunk: Chunk) -> View:
        """Return the elements of some rows in a buffer made by `result`."""
        return self._elements(form, chunk, _RESULT)

    def pieces(self, chunk: Chunk, limit: int) -> Iterator[View]:
        """Yield the elements of one row, at most `limit` at a time."""
        for piece in chunks(self.dims, chunk.partitions, 3, limit):
            dims = [(d.strides[_SOURCE], d.size) for d in piece.dims]
            yield self.form.at(chunk.number + piece.number, chunk.partitions, dims)

    def piece_count(self, limit: int) -> int:
        """Return the pieces of one row: more than its length requires if its dimensions split
        unevenly.
        """
        return sum(1 for _ in chunks(self.dims, self.partitions, 3, limit))

    def parts(self, firsts: Sequence[int]) -> "list[Rows]":
        """Split all rows, each part from one of `firsts` on; rows of several parts need one
        dimension.
        """
        if len(firsts) == 1:
            return [self]
        (d,) = self.dims
        out: list[Rows] = []
        for low, high in zip(firsts, [*firsts[1:], d.size], strict=True):
            part = Dim(atom(high - low, d.atom.stride), d.strides)
            out.append(replace(self, dims=(part,), first=low * d.atom.stride))
        return out

    def along(self, form: Form, chunk: Chunk) -> View:
        """Return a vector along the rows, equal on all partitions, for each of some rows."""
        form = replace(form, free=join(form.free))
        dims = [(0, d.size) for d in chunk.dims]
        for d in self.dims:
            stride = form.stride(d.atom)
            if stride is None:
                raise ValueError("a vector along rows has no stride along a dimension of the rows")
            dims.append((stride, d.size))
        return form.at(self.first, chunk.partitions, dims)

    def number(self, form: Form, chunk: Chunk, which: int = 0, width: int = 1) -> View:
        """Return value `which` of the `width` values of each of some rows."""
        dims = [(d.strides[_NUMBER] * width, d.size) for d in chunk.dims]
        return _moved(form.at(chunk.number, chunk.partitions, dims), which)

    def run(self, form: Form, chunk: Chunk, first: int, size: int) -> View:
        """Return `size` values of one row, from value `first` on."""
        return _moved(form.at(chunk.number, chunk.partitions, ((1, size),)), first)

    def spread(self, form: Form, chunk: Chunk) -> View:
        """Return the value of each of some rows, repeated for each element of the row."""
        dims = [(d.strides[_NUMBER], d.size) for d in chunk.dims]
        return form.at(chunk.number, chunk.partitions, dims + [(0, d.size) for d in self.dims])

    def _elements(self, form: Form, chunk: Chunk, which: int) -> View:
        dims = [(d.strides[which], d.size) for d in (*chunk.dims, *self.dims)]
        return form.at(chunk.number + self.first, chunk.partitions, dims)


def _moved(view: View, by: int) -> View:
    return View(view.buffer, view.start, view.partitions, view.free, view.offset + by, view.indices)


def rows_of(state: Lowering, value: Value, axes: Sequence[int]) -> Rows | None:
    """Return the rows of `value` along the dimensions `axes`.

    Returns None if a layout splits them or they are too long for one instruction.
    """
    shape = value.shape
    reduced = merge(dim_atoms(shape, axes))
    kept = [d for d in range(len(shape)) if d not in axes]
    partition = reduction_layout(state, value, reduced, kept)
    if not partition or any(meet(a, x) for a, _ in partition for x in reduced):
        return None
    form = state.converter.ensure(value, partition, span(partition))
    cuts = {c for s, n in zip(row_major(shape), shape, strict=True) for c in (s, s * n)}
    parts = [b for a, _ in form.free for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))]
    inner = [a for a in parts if any(x.stride <= a.stride and a.end <= x.end for x in reduced)]
    outer = [a for a in parts if a not in inner]
    if not inner or any(meet(a, x) for a in outer for x in reduced):
        return None
    numbers = Form(form.buffer, form.partition, join(dense(outer)))
    result = Form(form.buffer, form.partition, join(dense((*outer, *inner))))
    walk = plan([form, numbers, result], outer)
    dims = plan([form, numbers, result], inner)
    psum = space_of(form.buffer) is Space.PSUM
    limit = state.machine.max_free_psum if psum else state.machine.max_free_sbuf
    if walk is None or not dims or len(dims) > 2 or any(d.atom.ragged for d in dims):
        return None
    if prod(d.size for d in dims) > limit:
        return None
    by_rows = value.root().by_rows and any(a.size > 1 for a in outer)
    return Rows(state, form, tuple(outer), tuple(inner), tuple(walk), tuple(dims), by_rows=by_rows)
