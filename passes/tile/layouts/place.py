"""Represent full layouts: the partition, and the order of the other digits on the free axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.tile.layout import Digit, Layout
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    join,
    merge,
    row_major,
    span,
    split_at,
)
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.tile.layouts.maps import (
    Partition,
    in_order,
    own,
    repeated,
    repeats,
)


@dataclass(frozen=True)
class Place:
    """Digits on partitions, including repeating ones, and (digit, stride) on the free axis."""

    partition: Partition
    free: Partition

    def form(self, buffer: SSAValue, size: int, start: int = 0, offset: int = 0) -> Form:
        """Return the copy of a value of `size` elements in a buffer."""
        if own(self.partition, size):
            return Form(buffer, self.partition, self.free, start, offset)
        return Form(buffer, (), self.free, start, offset, copies=span(self.partition))


def place(shape: Sequence[int], partition: Partition, order: Iterable[Atom] = ()) -> Place:
    """Return the place with the other digits dense on the free axis.

    Digits of `order` are outermost, in that order; the remaining digits follow, outermost first.
    """
    order = list(order)
    edges = {c for a in order for c in (a.stride, a.end)}
    rest = cut_order(remaining(shape, partition), edges)
    named: list[Atom] = []
    for wanted in order:
        for a in rest:
            if a not in named and wanted.stride <= a.stride and a.end <= wanted.end:
                named.append(a)
    left = [a for a in rest if a not in named]
    return Place(partition, join(dense([*left, *named])))


def crossing(free: Partition, others: Iterable[Partition]) -> bool:
    """Return whether the free digits of a value and those of others have no common refinement.

    Positions (16, 13) and (104, 2) of a dimension of 208 have none, (16, 13) and (4, 52) have one.
    """
    every = [free, *others]
    cuts = {c for pairs in every for a, _ in pairs for c in (a.stride, a.end)}
    return any(not a.ragged and split_at(a, cuts) is None for pairs in every for a, _ in pairs)


def remaining(shape: Sequence[int], partition: Partition) -> list[Atom]:
    """Return the remaining digits of a shape, outermost first, split at the partition's digits."""
    size = prod(shape)
    mine = [a for a, _ in own(partition, size)]
    cuts = {c for a in mine for c in (a.stride, a.end)}
    out: list[Atom] = []
    for whole in merge(dim_atoms(shape, range(len(shape)))):
        parts = split_at(whole, cuts)
        assert parts is not None  # the digits of a partition divide the value
        out += [b for b in parts if not any(a.stride <= b.stride and b.end <= a.end for a in mine)]
    return out


def cut_order(atoms: Iterable[Atom], cuts: Iterable[int]) -> list[Atom]:
    """Split digits at these positions."""
    edges = set(cuts)
    return [b for a in atoms for b in split_at(a, edges) or (a,)]


def to_layout(shape: Sequence[int], where: Place) -> Layout:
    """Return the encoding of a place."""
    size = prod(shape)
    found = _by_dimensions(shape, where) or _by_dimensions((size,), where)
    assert found is not None, (shape, where)
    again = tuple(Digit(a.size, s) for a, s in repeats(where.partition, size))
    return Layout("sbuf", found, again)


def _by_dimensions(shape: Sequence[int], where: Place) -> tuple[tuple[Digit, ...], ...] | None:
    """Return the digits of each dimension; None if one spans several dimensions."""
    edges, strides = borders(shape), row_major(shape)
    size = prod(shape)
    dims: list[list[tuple[int, Digit]]] = [[] for _ in shape]
    for pairs, chip in ((own(where.partition, size), True), (where.free, False)):
        for whole, step in pairs:
            parts = split_at(whole, edges)
            if parts is None:
                return None
            for a in parts:
                d = _dim(a, shape, strides)
                if d is None:
                    return None
                each = step * (a.stride // whole.stride)
                digit = Digit(a.size, each) if chip else Digit(a.size, 0, each)
                dims[d].append((a.stride, digit))
    found = []
    for n, stride, row in zip(shape, strides, dims, strict=True):
        digits = _filled(n, stride, row)
        if digits is None:
            return None
        found.append(digits)
    return tuple(found)


def _filled(n: int, stride: int, row: list[tuple[int, Digit]]) -> tuple[Digit, ...] | None:
    """Return the digits of a dimension, outermost first, with those along which the value
    repeats.
    """
    out: list[Digit] = []
    expected = stride
    for unit, digit in sorted(row, key=lambda item: item[0]):
        if unit % expected:
            return None
        if unit > expected:
            out.insert(0, Digit(unit // expected))
        out.insert(0, digit)
        expected = unit * digit.size
    if n * stride % expected:
        return None
    if n * stride > expected:
        out.insert(0, Digit(n * stride // expected))
    return tuple(out)


def _dim(a: Atom, shape: Sequence[int], strides: Sequence[int]) -> int | None:
    for d, (s, n) in enumerate(zip(strides, shape, strict=True)):
        if n > 1 and s <= a.stride and a.end <= s * n and a.stride % s == 0:
            return d
    return None


def from_layout(shape: Sequence[int], layout: Layout) -> Place:
    """Return the place of an encoding."""
    if len(layout.dims) != len(shape):
        shape = (prod(shape),)
    strides = row_major(shape)
    partition: list[tuple[Atom, int]] = []
    free: list[tuple[Atom, int]] = []
    for d, digits in enumerate(layout.dims):
        unit = strides[d]
        for digit in reversed(digits):
            a = atom(digit.size, unit)
            if digit.partition:
                partition.append((a, digit.partition))
            elif digit.free:
                free.append((a, digit.free))
            unit *= digit.size
    size = prod(shape)
    partition += repeated([(d.size, d.partition) for d in layout.repeats], size)
    free.sort(key=lambda p: -p[1])
    return Place(in_order(partition, size), join(free))
