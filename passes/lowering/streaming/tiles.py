"""Represent tiles of values in HBM: the iteration number of the loop moves the address."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    join,
    merge,
    row_major,
    split_at,
)
from neuronir.passes.lowering.layouts.values import Value, scalar_value
from neuronir.passes.lowering.streaming.dims import WHOLE


@dataclass(frozen=True)
class Tile:
    """Tile number `first + round` of `size` rows each, cut to `rows`; without an iteration, the
    first.
    """

    size: int
    rows: int
    first: int = 0
    round: SSAValue | None = None


def tile_shape(shape: Sequence[int], dim: int, rows: int) -> tuple[int, ...]:
    """Return the shape of a tile."""
    return tuple(rows if d == dim else n for d, n in enumerate(shape))


def tile_value(value: Value, dim: int, tile: Tile, forms: Sequence[Form]) -> Value:
    """Return the tile of `value` along `dim`, as visible in `forms` (of the whole value)."""
    if dim == WHOLE:
        return value
    shape = tile_shape(value.shape, dim, tile.rows)
    if value.scalar is not None:
        return scalar_value(shape, value.dtype, value.scalar)
    if value.lazy is not None and not value.forms:
        source, scale, bias = value.lazy
        inner = tile_value(source, dim, tile, forms)
        return Value(shape, value.dtype, inner.support, lazy=(inner, scale, bias))
    cut = _Cut(value.shape, dim, tile)
    support = merge(part for part, _ in cut.parts([(a, 1) for a in value.support])[0])
    seen = [f for f in (cut.form(form) for form in forms) if f is not None]
    return Value(shape, value.dtype, support, seen, special=value.may_be_special())


def tile_form(form: Form, shape: Sequence[int], dim: int, tile: Tile) -> Form | None:
    """Return the copy of a tile inside a copy of the whole; None if the tile is scattered in it."""
    return _Cut(shape, dim, tile).form(form)


class _Cut:
    def __init__(self, shape: Sequence[int], dim: int, tile: Tile) -> None:
        self.shape = shape
        self.dim = dim
        self.tile = tile
        self.old = row_major(shape)
        self.new = row_major(tile_shape(shape, dim, tile.rows))
        self.cuts = {c for s, n in zip(self.old, shape, strict=True) for c in (s, s * n)}

    def form(self, form: Form) -> Form | None:
        """Return a form of the tile."""
        try:
            partition, moved = self.parts(form.partition)
            if moved:
                return None
            free, moved = self.parts(form.free)
        except ValueError:
            return None
        if len(moved) > 1 or (moved and not form.hbm):
            return None
        if not moved:
            return replace(form, partition=join(partition), free=join(free))
        step = moved[0]
        indices = form.indices
        if self.tile.round is not None:
            indices = (*indices, (self.tile.round, step))
        return replace(
            form, free=join(free), offset=form.offset + self.tile.first * step, indices=indices
        )

    def parts(self, pairs: Sequence[tuple[Atom, int]]) -> tuple[list[tuple[Atom, int]], list[int]]:
        """Return the atoms of a tile with their steps, and the advance of the next tile.

        Raises ValueError if atoms cross dimensions or tiles.
        """
        out: list[tuple[Atom, int]] = []
        moved: list[int] = []
        for whole, step in pairs:
            split = (whole,) if whole.ragged else split_at(whole, self.cuts)
            if split is None:
                raise ValueError("a factor spans several dimensions")
            for a in split:
                self._part(a, step * (a.stride // whole.stride), out, moved)
        return out, moved

    def _part(self, a: Atom, step: int, out: list[tuple[Atom, int]], moved: list[int]) -> None:
        d = next(
            i
            for i, (s, n) in enumerate(zip(self.old, self.shape, strict=True))
            if n > 1 and s <= a.stride < s * n
        )
        low = a.stride // self.old[d]
        if d != self.dim:
            k = self.new[d]
            out.append((Atom(a.size, low * k, a.unit // self.old[d] * k, a.extent), step))
            return
        if a.ragged:
            raise ValueError("a factor spans several tiles")
        size, rows, k = self.tile.size, self.tile.rows, self.new[d]
        if low * a.size <= size:
            kept = min(a.size, rows // low)
            if rows % low or (kept < a.size and rows % (low * a.size) and rows != low * kept):
                raise ValueError("a factor spans several tiles")
            if kept > 1:
                out.append((atom(kept, low * k), step))
        elif low >= size:
            if low != size:
                raise ValueError("a factor spans several tiles")
            moved.append(step)
        else:
            if size % low or rows % low:
                raise ValueError("a factor spans several tiles")
            if rows // low > 1:
                out.append((atom(rows // low, low * k), step))
            moved.append(step * (size // low))
