"""Represent the factors of a dot's operands, as numbered in them, in the dot and in each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.cover import covered
from neuronir.passes.lowering.layouts.layout import Atom, atom, row_major, split_at
from neuronir.passes.lowering.layouts.values import Value


@dataclass(frozen=True)
class Pair:
    """One factor, numbered as in an operand (`mine`) and as in the dot or the other operand.

    `period` is its size if neither side is a piece; element numbers of the whole dot wrap at it.
    """

    mine: Atom
    other: Atom
    period: int


def pairs_of(
    a_shape: Sequence[int], a_dims: Sequence[int], b_shape: Sequence[int], b_dims: Sequence[int]
) -> list[Pair]:
    """Match dimensions, outermost first, with a's sizes; joined where both are contiguous."""
    a_strides, b_strides = row_major(a_shape), row_major(b_shape)
    out: list[Pair] = []
    for x, y in zip(a_dims, b_dims, strict=True):
        if a_shape[x] == 1:
            continue
        a, b = atom(a_shape[x], a_strides[x]), atom(a_shape[x], b_strides[y])
        if out and out[-1].mine.stride == a.end and out[-1].other.stride == b.end:
            size = out[-1].mine.size * a.size
            period = out[-1].period * b_shape[y]
            out[-1] = Pair(atom(size, a.stride), atom(size, b.stride), period)
        else:
            out.append(Pair(a, b, b_shape[y]))
    return out


def apart(pairs: Sequence[Pair], support: Sequence[Atom]) -> list[Pair]:
    """Split the pairs where an operand with `support` varies along a part of `mine` only.

    A tile must not cross from one part to the next.
    """
    out: list[Pair] = []
    for pair in pairs:
        if covered(support, pair.mine) is not None:
            out.append(pair)
            continue
        parts = split_at(pair.mine, {c for s in support for c in (s.stride, s.end)})
        if parts is None:
            raise NeuronError("NIR_LOW003", "a factor of a dot spans several dimensions")
        base, scale, inner = pair.mine.stride, pair.other.stride, pair.mine.size
        for k, part in enumerate(parts):
            inner //= part.size
            period = part.size if k else pair.period // inner
            out.append(Pair(part, atom(part.size, part.stride // base * scale), period))
    return out


def moved(part: Atom, pairs: Sequence[Pair]) -> Atom:
    """Map `part`, a part of one of the pairs' `mine`, to the other numbering."""
    for p in pairs:
        if within(part, p.mine):
            base, scale = p.mine.stride, p.other.stride
            return Atom(
                part.size, part.stride // base * scale, part.unit // base * scale, part.extent
            )
    raise NeuronError("NIR_LOW003", "a factor of a dot spans several dimensions")


def translate(number: int, pairs: Sequence[Pair]) -> int:
    """Return the element number on the other side with the digits of `number` on mine."""
    return sum(number // p.mine.stride % p.period * p.other.stride for p in pairs)


def flipped(pairs: Sequence[Pair]) -> list[Pair]:
    """Swap the sides of the pairs."""
    return [Pair(p.other, p.mine, p.period) for p in pairs]


def within(a: Atom, whole: Atom) -> bool:
    """Return whether the digits of `a` are among those of `whole`."""
    return whole.stride <= a.stride and a.end <= whole.end


def divides(a: Atom, whole: Atom) -> bool:
    """Return whether `a` is a factor of `whole`; digits that do not divide it extend beyond it."""
    return within(a, whole) and (a.ragged or whole.end % a.end == 0 == a.stride % whole.stride)


@dataclass
class Side:
    """An operand: its value, and its free and batch factors (mine = dot, other = operand)."""

    value: Value
    free: list[Pair]
    batch: list[Pair]

    def number(self, number: int) -> int:
        """Return the operand's element number for a number of the dot."""
        return translate(number, self.free) + translate(number, self.batch)


@dataclass(frozen=True)
class Dims:
    """Dimension numbers of a dot."""

    batch: tuple[tuple[int, ...], tuple[int, ...]]
    contracting: tuple[tuple[int, ...], tuple[int, ...]]
    free: tuple[tuple[int, ...], tuple[int, ...]]


def dims_of(op: DotOp) -> Dims:
    """Return the dimension numbers of `op`, including the free ones."""
    batch = (ints(op.lhs_batch_dims), ints(op.rhs_batch_dims))
    contracting = (ints(op.lhs_contracting_dims), ints(op.rhs_contracting_dims))
    ranks = [len(cast(Sequence[int], op.operands[i].type.get_shape())) for i in (0, 1)]  # type: ignore[attr-defined]
    free = tuple(
        tuple(d for d in range(ranks[i]) if d not in batch[i] and d not in contracting[i])
        for i in (0, 1)
    )
    return Dims(batch, contracting, cast("tuple[tuple[int, ...], tuple[int, ...]]", free))
