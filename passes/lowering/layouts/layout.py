"""Represent layouts: the factors of a tensor on partitions, and the order of the free axis.

A tensor's elements are numbered in row-major order. An `Atom` is one digit of that number: a factor
of `size` positions, `stride` apart. A reshape keeps the numbering and is free; a transpose
renumbers atoms. A `Form` is one physical copy of a value: each atom is on partitions or on the free
axis of a buffer. A value is constant along digits that no atom covers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError


class Atom(NamedTuple):
    """The digit `((n // unit) % extent) // (stride // unit) % size` of element number n.

    If the tile does not divide the dimension, the last tile is shorter and `unit * extent` is the
    end of the dimension. Otherwise unit = stride and extent = size.
    """

    size: int
    stride: int
    unit: int
    extent: int

    @property
    def end(self) -> int:
        """Return the stride of the next larger digit."""
        return self.stride * self.size if self.unit == self.stride else self.unit * self.extent

    @property
    def reach(self) -> int:
        """Return the end of its dimension (for a tile or its inner digit, of the whole
        dimension).
        """
        return self.unit * self.extent

    @property
    def ragged(self) -> bool:
        """Return whether its dimension is not a whole number of tiles."""
        return self.unit != self.stride or self.extent != self.size

    def digit(self, number: int) -> int:
        """Return the digit of element `number`."""
        return (number // self.unit) % self.extent // (self.stride // self.unit) % self.size


def atom(size: int, stride: int) -> Atom:
    """Create a plain digit."""
    return Atom(size, stride, stride, size)


def tile(size: int, stride: int, width: int) -> tuple[Atom, Atom]:
    """Split a digit into (tile, inner of `width`); the last tile may be shorter."""
    count = -(-size // width)
    if count * width == size:
        return atom(count, stride * width), atom(width, stride)
    return Atom(count, stride * width, stride, size), Atom(width, stride, stride, size)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of the dimensions in the element number."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def dim_atoms(shape: Sequence[int], dims: Iterable[int]) -> tuple[Atom, ...]:
    """Return the given dimensions as atoms, in order, without those of size 1."""
    strides = row_major(shape)
    return tuple(atom(shape[d], strides[d]) for d in dims if shape[d] != 1)


def merge(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Join adjacent atoms (outermost first) that are contiguous."""
    out: list[Atom] = []
    for a in atoms:
        if a.size == 1 and not a.ragged:
            continue
        if out and not out[-1].ragged and not a.ragged and out[-1].stride == a.end:
            out[-1] = atom(out[-1].size * a.size, a.stride)
        else:
            out.append(a)
    return tuple(out)


def split_at(a: Atom, cuts: Iterable[int]) -> tuple[Atom, ...] | None:
    """Split a plain atom at the strides of `cuts`, outermost first; None if impossible."""
    points = sorted({c for c in cuts if a.stride < c < a.end})
    if not points:
        return (a,)
    if a.ragged:
        return None
    out: list[Atom] = []
    low = a.stride
    for c in [*points, a.end]:
        if c % low:
            return None
        out.append(atom(c // low, low))
        low = c
    return tuple(reversed(out))


def parts_of(a: Atom, cuts: Iterable[int]) -> tuple[Atom, ...]:
    """Split an atom as `split_at` does. Raises NeuronError if that is impossible: to leave such an
    atom out would compute something else."""
    parts = split_at(a, cuts)
    if parts is None:
        raise NeuronError("NIR_TIL008", f"a digit {a} of a layout spans parts of dimensions")
    return parts


@dataclass(frozen=True, slots=True)
class Form:
    """One physical copy of a value.

    `partition` has (atom, step in partitions), `free` (atom, stride in elements of the buffer).
    `copies` is the number of partitions that hold the same data if `partition` is empty. An HBM
    form has no partition atoms. `dtype` is the name of the element type if it is not the buffer's.
    `indices` are loop variables, with the elements by which each iteration moves the offset (of
    arrays that tiles are part of).
    """

    buffer: SSAValue
    partition: tuple[tuple[Atom, int], ...]
    free: tuple[tuple[Atom, int], ...]
    start: int = 0
    offset: int = 0
    dtype: str = ""
    copies: int = 1
    hbm: bool = False
    indices: tuple[tuple[SSAValue, int], ...] = ()

    @property
    def partitions(self) -> int:
        """Return the number of partitions that it spans."""
        span = 1
        for a, step in self.partition:
            span += (a.size - 1) * step
        return max(span, self.copies)

    @property
    def elements(self) -> int:
        """Return the elements per partition."""
        return prod(a.size for a, _ in self.free)

    @property
    def usable(self) -> bool:
        """Return whether it is on the chip, from partition 0, without gaps.

        Other values can then have the same layout.
        """
        if self.hbm or self.start or not self.partition:
            return False
        step = 1
        for a, s in reversed(join(self.partition)):
            if s != step:
                return False
            step *= a.size
        return True

    def locate(self, number: int) -> tuple[int, int]:
        """Return (partition, element offset) of element `number`."""
        p = self.start
        for a, step in self.partition:
            p += a.digit(number) * step
        offset = self.offset
        for a, stride in self.free:
            offset += a.digit(number) * stride
        return p, offset

    def stride(self, a: Atom) -> int | None:
        """Return the element stride along `a`; 0 if constant; None if `a` is not whole."""
        for other, stride in self.free:
            step = _inside(a, other)
            if step is not None:
                return stride * step
            if meet(a, other):
                return None
        if any(meet(a, other) for other, _ in self.partition):
            return None
        return 0

    def whole_stride(self, a: Atom) -> int:
        """Return the element stride along `a`; 0 if constant.

        Raises ValueError if `a` is not whole: its elements have no common distance.
        """
        found = self.stride(a)
        if found is None:
            raise ValueError(f"{a} is in pieces in {self.free}")
        return found

    def step(self, a: Atom) -> int | None:
        """Return the partition stride along `a`; 0 if constant; None if it is not whole."""
        for other, step in self.partition:
            inside = _inside(a, other)
            if inside is not None:
                return step * inside
            if meet(a, other):
                return None
        if any(meet(a, other) for other, _ in self.free):
            return None
        return 0

    def atoms(self) -> tuple[Atom, ...]:
        """Return all atoms, partitions first."""
        return tuple(a for a, _ in self.partition) + tuple(a for a, _ in self.free)

    def at(self, number: int, partitions: int, free: Sequence[tuple[int, int]]) -> View:
        """Return a view of `partitions` partitions from element `number` on, with (stride, size)
        dims.
        """
        p, offset = self.locate(number)
        dims = tuple(free) or ((1, 1),)
        return View(self.buffer, p, partitions, dims, offset, self.indices, 0, self.dtype)


def _inside(a: Atom, other: Atom) -> int | None:
    """Return the multiple of `other`'s stride by which `a` advances, if `a` is a part of
    `other`.
    """
    if a == other:
        return 1
    if a.ragged or other.ragged:
        whole = not other.ragged and a.unit % other.stride == 0
        if whole and a.unit * a.extent <= other.end:  # the dimension is whole, not tiled
            return a.stride // other.stride
        return None
    if a.stride % other.stride == 0 and a.end <= other.end:
        return a.stride // other.stride
    return None


def meet(a: Atom, b: Atom) -> bool:
    """Return whether two atoms have digits in common."""
    return a.stride < b.end and b.stride < a.end


def span(partition: Iterable[tuple[Atom, int]]) -> int:
    """Return the number of partitions of (atom, step) pairs, with gaps between them."""
    return sum((a.size - 1) * s for a, s in partition) + 1


def partition_signature(form: Form) -> tuple[tuple[Atom, int], ...]:
    """Return partition atoms with neighbours joined, to compare layouts."""
    return join(form.partition)


def join(pairs: Iterable[tuple[Atom, int]]) -> tuple[tuple[Atom, int], ...]:
    """Join adjacent (atom, step) pairs, outermost first, that are contiguous."""
    out: list[tuple[Atom, int]] = []
    for a, step in pairs:
        if a.size == 1 and not a.ragged:
            continue
        if out:
            b, outer = out[-1]
            if not b.ragged and not a.ragged and b.stride == a.end and outer == step * a.size:
                out[-1] = (atom(b.size * a.size, a.stride), step)
                continue
        out.append((a, step))
    return tuple(out)


def dense(atoms: Sequence[Atom], scale: int = 1) -> tuple[tuple[Atom, int], ...]:
    """Give atoms (outermost first) dense strides; the last one is `scale`."""
    out: list[tuple[Atom, int]] = []
    for a in reversed(atoms):
        out.append((a, scale))
        scale *= a.size
    return tuple(reversed(out))


def divisor(size: int, limit: int) -> int:
    """Return the largest divisor of `size` that is at most `limit`."""
    best = 1
    d = 1
    while d * d <= size:
        if size % d == 0:
            for c in (d, size // d):
                if best < c <= limit:
                    best = c
        d += 1
    return best


def tile_width(size: int, limit: int) -> int:
    """Return a tile size for a dimension.

    It is all of it, a divisor of at least half the limit, or else an equal part of which the last
    is shorter.
    """
    if size <= limit:
        return size
    d = divisor(size, limit)
    if 2 * d >= limit:
        return d
    return -(-size // -(-size // limit))
