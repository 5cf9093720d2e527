"""Choose layouts in whole dimensions if a denser layout would split an indivisible factor."""

from collections.abc import Sequence

from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    dim_atoms,
    merge,
    row_major,
    split_at,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import Partition, Value


def borders(shape: Sequence[int]) -> set[int]:
    """Return where dimensions start and end, in element numbers."""
    strides = row_major(shape)
    return {c for s, n in zip(strides, shape, strict=True) for c in (s, s * n)}


def divides(atoms: Sequence[Atom], shape: Sequence[int]) -> bool:
    """Return whether each atom is a product of factors of dimensions; a ragged one must be in
    one.
    """
    dims = [(s, s * n) for s, n in zip(row_major(shape), shape, strict=True)]
    for a in atoms:
        parts = (a,) if a.ragged else split_at(a, borders(shape))
        if parts is None:
            return False
        for part in parts:
            inside = [d for d in dims if d[0] <= part.unit and part.reach <= d[1]]
            whole = (d[1] % part.reach == 0 or part.ragged for d in inside)
            if not any(w and part.unit % d[0] == 0 for w, d in zip(whole, inside, strict=True)):
                return False
    return True


def widest(atoms: Sequence[Atom], limit: int) -> Partition:
    """Return the largest of some factors on partitions, tiled if necessary."""
    wide = [a for a in atoms if a.size > 1 and not a.ragged]
    if not wide:
        return ()
    a = max(wide, key=lambda a: a.size)
    return ((tile(a.size, a.stride, tile_width(a.size, limit))[1], 1),)


def in_dimensions(shape: Sequence[int], dims: Sequence[int], limit: int) -> Partition:
    """Return the largest of some dimensions on partitions."""
    return widest(dim_atoms(shape, dims), limit)


def workable(form: Form, shape: Sequence[int]) -> bool:
    """Return whether all factors of a copy are factors of dimensions."""
    return divides(form.atoms(), shape)


def refined(values: Sequence[Value], shape: Sequence[int]) -> tuple[Atom, ...] | None:
    """Return the elements of `shape` in the coarsest factors with uniform variation of every value.

    Along each factor a value varies or is constant. Returns None if there are none.
    """
    cuts = {c for v in values for a in v.support for c in (a.stride, a.end)}
    out: list[Atom] = []
    for a in merge(dim_atoms(shape, range(len(shape)))):
        parts = split_at(a, cuts)
        if parts is None:
            return None
        out.extend(parts)
    return tuple(out)
