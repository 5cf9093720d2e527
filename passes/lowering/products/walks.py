"""Represent the operands of a dot as access patterns: contraction steps, column blocks, strides."""

from collections.abc import Sequence

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.cover import elements_of, lies_whole
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, split_at, tile_width
from neuronir.passes.lowering.layouts.values import Partition
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.products.sides import Pair, flipped, moved, within


def columns_of(form: Form, pairs: Sequence[Pair]) -> list[Atom] | None:
    """Return the moving factors as atoms of the dot, split to have single strides in the copy.

    Returns None if they do not divide each other.
    """
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    back = flipped(pairs)
    out: list[Atom] = []
    for p in pairs:
        parts = (p.other,) if form.stride(p.other) is not None else split_at(p.other, cuts)
        if parts is None or not all(
            lies_whole(form, a) and form.stride(a) is not None for a in parts
        ):
            return None
        out.extend(moved(a, back) for a in parts)
    return out


def strides_of(form: Form, atoms: Sequence[tuple[Atom, int]]) -> list[tuple[int, int]]:
    """Return `walk`, which must exist."""
    found = walk(form, atoms)
    if found is None:
        raise NeuronError("NIR_LOW003", "an operand of a dot has a factor across its layout")
    return found


def walk(form: Form, atoms: Sequence[tuple[Atom, int]]) -> list[tuple[int, int]] | None:
    """Return (stride, size) dims of an operand along atoms, split where its form is.

    Returns None if a factor crosses them.
    """
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    out: list[tuple[int, int]] = []
    for whole, n in atoms:
        for a in (whole,) if whole.ragged or n != whole.size else split_at(whole, cuts) or (whole,):
            stride = form.stride(a)
            if stride is None:
                return None
            size = n if a is whole else a.size
            if out and out[-1][0] == stride * size:
                out[-1] = (stride, out[-1][1] * size)
            elif size > 1 or not out:
                out.append((stride, size))
    return out


def run_of(form: Form, whole: Atom, low: int, count: int) -> list[tuple[int, int]] | None:
    """Return (stride, size) dims of `count` digits of an atom from digit `low` on.

    Returns None if they do not form a box: they cross the end of a factor of the form.
    """
    dims = walk(form, [(whole, whole.size)])
    if dims is None:
        return None
    inner: list[tuple[int, int]] = []
    while len(dims) > 1:
        stride, size = dims.pop()
        if low // size == (low + count - 1) // size:
            return [(stride, count), *inner]
        if low % size or count % size:
            return None
        inner.insert(0, (stride, size))
        low, count = low // size, count // size
    return [(dims[0][0], count), *inner]


def rest_of(mine: Sequence[Atom], atoms: Sequence[Atom]) -> list[Atom]:
    """Return the digits of `mine` that `atoms` leave, without ragged tiles."""
    out: list[Atom] = []
    ragged = [a for a in atoms if a.ragged]
    cuts = {c for a in atoms for c in ((a.unit, a.reach) if a.ragged else (a.stride, a.end))}
    for m in mine:
        parts = split_at(m, cuts)
        if parts is None and any(a.unit < m.end and m.stride < a.reach for a in ragged):
            raise NeuronError("NIR_LOW003", "tiles of a factor of a dot span several dimensions")
        for b in parts or (m,):
            tiled = any(a.unit <= b.stride and b.end <= a.reach for a in ragged)
            if not tiled and not any(within(b, a) for a in atoms):
                out.append(b)
    return out


def rounds_of(k: Sequence[Atom], atoms: Sequence[Atom]) -> list[tuple[int, int]]:
    """Return (number, rows) of each tile of the contraction."""
    ragged = next((a for a in atoms if a.ragged), None)
    rows = elements_of(atoms)
    if ragged is None:
        return [(n, rows) for n in numbers_of(rest_of(k, atoms))]
    out: list[tuple[int, int]] = []
    for number in numbers_of(rest_of(k, atoms)):
        for low in range(0, ragged.extent, ragged.size):
            out.append((number + low * ragged.unit, min(ragged.size, ragged.extent - low)))
    return out


def column_blocks(atoms: Sequence[Atom], limit: int) -> list[tuple[int, list[Atom]]]:
    """Split the moving factors into blocks of at most `limit` columns and three dims."""
    inner: list[Atom] = []
    count = 1
    rest = list(atoms)
    while rest and len(inner) < 3 and count * rest[-1].size <= limit:
        count *= rest[-1].size
        inner.insert(0, rest.pop())
    cut: list[tuple[int, list[Atom]]] = [(0, inner)]
    if rest and len(inner) < 3 and limit // count > 1:
        a = rest.pop()
        width = tile_width(a.size, limit // count)
        cut = []
        for low in range(0, a.size, width):
            size = min(width, a.size - low)
            part = [atom(size, a.stride), *inner] if size > 1 else list(inner)
            cut.append((low * a.stride, part))
    return [(n + c, part) for n in numbers_of(rest) for c, part in cut]


def is_dense(pairs: Partition) -> bool:
    """Return whether the steps skip no partition."""
    step = 1
    for a, s in reversed(pairs):
        if s != step:
            return False
        step *= a.size
    return True
