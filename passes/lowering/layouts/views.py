"""Traverse several forms of one iteration space together, in pieces for one instruction each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.fault import NoLayout
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, split_at


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of an access: an atom and each form's stride along it."""

    atom: Atom
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the positions along it."""
        return self.atom.size


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece: its first element, its partitions and its free dims."""

    number: int
    partitions: int
    dims: tuple[Dim, ...]

    def view(self, form: Form, which: int) -> View:
        """Return the access of form number `which`."""
        return form.at(
            self.number, self.partitions, [(d.strides[which], d.size) for d in self.dims]
        )

    @property
    def elements(self) -> int:
        """Return the elements per partition."""
        return prod(d.size for d in self.dims)


def plan(forms: Sequence[Form], atoms: Sequence[Atom]) -> list[Dim] | None:
    """Split the atoms (outermost first) so that each form has one stride along each.

    Atoms are joined where all forms are contiguous. Returns None if a form has no stride along one
    (it is on partitions there).
    """
    cuts = {c for f in forms for a in f.atoms() for c in (a.stride, a.end)}
    dims: list[Dim] = []
    for whole in atoms:
        parts = (whole,) if whole.ragged else split_at(whole, cuts)
        if parts is None:
            return None
        for a in parts:
            strides = [f.stride(a) for f in forms]
            if any(s is None for s in strides):
                return None
            found = tuple(s or 0 for s in strides)
            if dims and not a.ragged and not dims[-1].atom.ragged:
                outer = dims[-1]
                contiguous = outer.atom.stride == a.end
                goes_on = all(o == s * a.size for o, s in zip(outer.strides, found, strict=True))
                if contiguous and goes_on:
                    dims[-1] = Dim(atom(outer.size * a.size, a.stride), found)
                    continue
            if a.size > 1 or a.ragged:
                dims.append(Dim(a, found))
    return dims


def walked(forms: Sequence[Form], atoms: Sequence[Atom]) -> list[Dim]:
    """Return `plan`, which must exist."""
    dims = plan(forms, atoms)
    if dims is None:
        raise NeuronError("NIR_LOW003", "a factor spans several digits of the layout of a value")
    return dims


def chunks(
    dims: Sequence[Dim], partitions: int, max_dims: int, max_elements: int
) -> Iterator[Chunk]:
    """Yield pieces of at most `max_dims` free dims and `max_elements` elements per partition.

    If a dimension is not a whole number of tiles, the last piece has fewer partitions.
    """
    ragged = next((i for i, d in enumerate(dims) if d.atom.ragged), None)
    if ragged is None:
        yield from _plain(0, list(dims), partitions, max_dims, max_elements)
        return
    d = dims[ragged]
    width = d.atom.stride // d.atom.unit
    tail = d.atom.extent - (d.atom.size - 1) * width
    rest = [*dims[:ragged], *dims[ragged + 1 :]]
    if d.size > 1:
        full = Dim(atom(d.size - 1, d.atom.stride), d.strides)
        head = [*dims[:ragged], full, *dims[ragged + 1 :]]
        yield from _plain(0, [h for h in head if h.size > 1], partitions, max_dims, max_elements)
    yield from _plain((d.size - 1) * d.atom.stride, rest, tail, max_dims, max_elements)


def _plain(
    base: int, dims: list[Dim], partitions: int, max_dims: int, max_elements: int
) -> Iterator[Chunk]:
    inner: list[Dim] = []
    count = 1
    cut = len(dims)
    while cut > 0 and len(inner) < max_dims and count * dims[cut - 1].size <= max_elements:
        cut -= 1
        inner.insert(0, dims[cut])
        count *= dims[cut].size
    outer = dims[:cut]
    if outer and len(inner) < max_dims and max_elements // count > 1:
        d = outer.pop()
        step = max_elements // count
        for low in range(0, d.size, step):
            size = min(step, d.size - low)
            part = [Dim(atom(size, d.atom.stride), d.strides), *inner] if size > 1 else list(inner)
            for number in numbers_of([o.atom for o in outer]):
                yield Chunk(base + number + low * d.atom.stride, partitions, tuple(part))
        return
    for number in numbers_of([o.atom for o in outer]):
        yield Chunk(base + number, partitions, tuple(inner))


def numbers_of(atoms: Sequence[Atom]) -> list[int]:
    """Return the element numbers of all digits of `atoms`, outermost slowest."""
    total = [0]
    for a in atoms:
        total = [t + i * a.stride for t in total for i in range(a.size)]
    return total


def dma_views(chip: Form, memory: Form, max_dims: int) -> Iterator[tuple[View, View]]:
    """Yield pairs of accesses that move all of `chip` (SBUF) from or to `memory` (HBM)."""
    pairs = _partition_pairs(chip, memory)
    steps = [memory.stride(a) for a, _ in pairs]
    if any(s is None for s in steps):
        raise NoLayout("a copy in HBM does not hold a factor whole")
    rows = chip.copies if not pairs else 1
    row_stride = 0
    loops: list[tuple[Atom, int]] = []
    while pairs:
        a, step = pairs.pop()
        stride = steps.pop() or 0
        if rows == 1 and not loops and step == 1:
            rows, row_stride = a.size, stride
        elif not loops and step == rows and stride == row_stride * rows and not a.ragged:
            rows *= a.size
        else:
            loops.insert(0, (a, step))
    dims = plan([chip, memory], [a for a, _ in chip.free])
    if dims is None:
        raise NoLayout("a copy in HBM does not hold a factor whole")
    for base in numbers_of([a for a, _ in loops]):
        for piece in chunks(dims, rows, max_dims, 1 << 30):
            at = replace(piece, number=piece.number + base)
            view = at.view(memory, 1)
            yield at.view(chip, 0), replace(view, start=0, partition_stride=row_stride)


def _partition_pairs(chip: Form, memory: Form) -> list[tuple[Atom, int]]:
    """Return the partition atoms of `chip`, split at those of `memory`."""
    cuts = {c for a in memory.atoms() for c in (a.stride, a.end)}
    return [
        (b, s * (b.stride // a.stride))
        for a, s in chip.partition
        for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
    ]


def dma_reaches(chip: Form, memory: Form) -> bool:
    """Return whether `memory` has the atoms of `chip` whole, so that `dma_views` can traverse
    both.
    """
    if any(memory.stride(a) is None for a, _ in _partition_pairs(chip, memory)):
        return False
    return plan([chip, memory], [a for a, _ in chip.free]) is not None


PART_BYTES = 32768
"""Bytes per partition above which a transfer is split, so that users need not wait for all of it.
"""


def in_parts(chip: View, memory: View) -> Iterator[tuple[View, View]]:
    """Split a large transfer along its outermost free dimension."""
    count, stride = chip.free[0][1], chip.free[0][0]
    row = prod(size for _, size in chip.free[1:]) * view_dtype(chip).size
    step = max(1, PART_BYTES // row)
    if step >= count or len(chip.free) < 2 or memory.free[0][1] != count:
        yield chip, memory
        return
    other = memory.free[0][0]
    for low in range(0, count, step):
        n = min(step, count - low)
        yield (
            replace(chip, free=((stride, n), *chip.free[1:]), offset=chip.offset + low * stride),
            replace(
                memory, free=((other, n), *memory.free[1:]), offset=memory.offset + low * other
            ),
        )


def in_turn(parts: Sequence[Sequence[tuple[View, View]]]) -> list[tuple[View, View]]:
    """Return the first parts of all transfers, then the second ones, and so on.

    If the transfers have different partitions, the first elements of all partitions then arrive
    first.
    """
    most = max(map(len, parts), default=0)
    return [part[i] for i in range(most) for part in parts if i < len(part)]


def packed(sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return dense (stride, size) dims."""
    out: list[tuple[int, int]] = []
    stride = 1
    for size in reversed(sizes):
        out.append((stride, size))
        stride *= size
    return tuple(reversed(out)) or ((1, 1),)
