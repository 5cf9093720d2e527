"""Analyse while loops over iterations: the role of each carried element, and affine indices."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.passes.hlo.support.values import constant, element, integer, ints, shape, string
from neuronir.passes.hlo.while_carry import COUNTER, WhileParts, carried_index, while_parts

_SAME = ("hlo.copy", "hlo.convert", "hlo.reshape", "hlo.bitcast")
_HOLDS = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Linear:
    """An affine value in iteration r of a loop: `factor` * r + `first`."""

    factor: int
    first: int

    def ends(self, count: int) -> tuple[int, int]:
        """Return the values in the first and in the last of `count` iterations."""
        return self.first, self.first + self.factor * (count - 1)


@dataclass(frozen=True)
class Part:
    """A slice of an array that moves along one dimension with the iterations."""

    starts: tuple[int, ...]
    dim: int | None
    at: Linear | None


@dataclass(frozen=True)
class CountedLoop:
    """A loop of `count` iterations over `parts`.

    Carried elements are classified as follows. `kept` elements are loop-invariant. `counter` counts
    the iterations. `written` elements are arrays of which each iteration writes one slice, and
    which are read only after the loop. All others are `states`, carried from one iteration to the
    next.
    """

    parts: WhileParts
    count: int
    counter: int
    number: Linear
    kept: frozenset[int]
    written: dict[int, Part]
    states: tuple[int, ...]

    def linear(self, value: SSAValue) -> Linear | None:
        """Return an integer of the body as an affine value, or None."""
        if carried_index(value, self.parts.body) == self.counter:
            return self.number
        array = constant(value)
        if array is not None and array.size == 1 and array.dtype.kind in "iu":
            return Linear(0, int(array.reshape(-1)[0]))
        op = value.owner
        found = self._of(op) if isinstance(op, Operation) else None
        return found if found is not None and self._holds(found, value) else None

    def _holds(self, number: Linear, value: SSAValue) -> bool:
        """Return whether a value fits its type in every iteration, so that it does not wrap."""
        kind = np_dtype(element(value))
        if kind.kind not in "iu":
            return False
        limits: np.iinfo[Any] = np.iinfo(cast(Any, kind))
        return all(limits.min <= n <= limits.max for n in number.ends(self.count))

    def _of(self, op: Operation) -> Linear | None:
        if op.name in _SAME:
            return self.linear(op.operands[0])
        if op.name == "hlo.select":
            return self._selected(op)
        sides = [self.linear(v) for v in op.operands]
        if any(s is None for s in sides) or op.name == "hlo.compare":
            return None
        found = [s for s in sides if s is not None]
        if op.name == "hlo.negate":
            return Linear(-found[0].factor, -found[0].first)
        if len(found) != 2:
            return None
        a, b = found
        if op.name == "hlo.add":
            return Linear(a.factor + b.factor, a.first + b.first)
        if op.name == "hlo.subtract":
            return Linear(a.factor - b.factor, a.first - b.first)
        if op.name == "hlo.multiply" and 0 in (a.factor, b.factor):
            return Linear(a.factor * b.first + b.factor * a.first, a.first * b.first)
        if op.name in ("hlo.maximum", "hlo.minimum"):
            larger = op.name == "hlo.maximum"
            ends = list(zip(a.ends(self.count), b.ends(self.count), strict=True))
            if all(x >= y for x, y in ends):
                return a if larger else b
            if all(y >= x for x, y in ends):
                return b if larger else a
        return None

    def _selected(self, op: Operation) -> Linear | None:
        """Resolve a select with the same outcome in every iteration, as for negative indices."""
        compare = op.operands[0].owner
        if not isinstance(compare, Operation) or compare.name != "hlo.compare":
            return None
        sides = [self.linear(v) for v in compare.operands]
        holds = _HOLDS.get(string(compare, "direction"))
        if holds is None or sides[0] is None or sides[1] is None:
            return None
        ends = zip(sides[0].ends(self.count), sides[1].ends(self.count), strict=True)
        found = {holds(a, b) for a, b in ends}
        return self.linear(op.operands[1 if found == {True} else 2]) if len(found) == 1 else None

    def part(self, op: Operation) -> Part | None:
        """Return the slice that a dynamic_slice or dynamic_update_slice accesses in each iteration.

        Returns None if the slice depends on data, moves along several dimensions, or does not move
        by multiples of its size.
        """
        begin = 1 if op.name == "hlo.dynamic_slice" else 2
        whole = shape(op.operands[0])
        sizes = ints(op, "slice_sizes") if begin == 1 else shape(op.operands[1])
        starts, moves = [], []
        for d, v in enumerate(op.operands[begin:]):
            at = self.linear(v)
            if at is None:
                return None
            last = whole[d] - sizes[d]
            if at.factor == 0:
                starts.append(min(max(at.first, 0), last))
                continue
            if any(n < 0 or n > last for n in at.ends(self.count)):
                return None
            if at.factor % sizes[d] or at.first % sizes[d]:
                return None
            starts.append(0)
            moves.append((d, at))
        if len(moves) > 1:
            return None
        return Part(tuple(starts), *(moves[0] if moves else (None, None)))

    def indexes(self, op: Operation) -> bool:
        """Return whether an op computes an affine value, or compares two."""
        if op.name == "hlo.compare":
            return all(self.linear(v) is not None for v in op.operands)
        values = [r for r in op.results if isinstance(r.type, TensorType)]
        return bool(values) and all(self.linear(r) is not None for r in values)

    def places(self, op: Operation) -> bool:
        """Return whether the iteration alone determines what a dynamic slice of the body accesses:
        a part of an invariant array, or the part of a written array.
        """
        if op.name == "hlo.dynamic_update_slice":
            return any(self.parts.next[i] is op.results[0] for i in self.written)
        kept = carried_index(op.operands[0], self.parts.body) in self.kept
        return kept and self.part(op) is not None


def counter_of(op: Operation) -> tuple[int, Linear, int] | None:
    """Return the carried element that counts, its value, and the trip count; None if no element
    counts or the trip count is not known.
    """
    numbers = op.attributes.get(COUNTER)
    if "trip_count" not in op.properties or not isinstance(numbers, DenseArrayBase):
        return None
    counter, start, step = (int(n) for n in numbers.get_values())
    return counter, Linear(step, start), integer(op, "trip_count")


def counted_loop(op: Operation) -> CountedLoop | None:
    """Analyse a hlo.while as a loop over iterations.

    Returns None if it is not such a loop, or if an array that it writes slice by slice is also read
    or not completely written.
    """
    parts, found = while_parts(op), counter_of(op)
    if parts is None or found is None:
        return None
    counter, number, count = found
    kept = frozenset(i for i, v in enumerate(parts.next) if carried_index(v, parts.body) == i)
    loop = CountedLoop(parts, count, counter, number, kept, {}, ())
    written: dict[int, Part] = {}
    states: list[int] = []
    for i, v in enumerate(parts.next):
        if i in kept or i == counter:
            continue
        part = _written(loop, i, v)
        if part is None:
            states.append(i)
        elif _in_full(part, v, count):
            written[i] = part
        else:
            return None
    return CountedLoop(parts, count, counter, loop.number, kept, written, tuple(states))


def _written(loop: CountedLoop, index: int, value: SSAValue) -> Part | None:
    """Return the slice of a carried array that an iteration writes.

    No other op of the body may read the array.
    """
    op = value.owner
    if not isinstance(op, Operation) or op.name != "hlo.dynamic_update_slice":
        return None
    body = loop.parts.body
    reads = [u for u in body.args[0].uses if integer(u.operation, "index") == index]
    uses = sum(len(list(u.operation.results[0].uses)) for u in reads)
    if carried_index(op.operands[0], body) != index or uses != 1 or not value.has_one_use():
        return None
    part = loop.part(op)
    return part if part is not None and part.at is not None else None


def _in_full(part: Part, value: SSAValue, count: int) -> bool:
    """Return whether all iterations together write the whole array."""
    op = value.owner
    assert isinstance(op, Operation) and part.at is not None and part.dim is not None
    whole, tile = shape(op.operands[0]), shape(op.operands[1])
    along = all(a == b for d, (a, b) in enumerate(zip(whole, tile, strict=True)) if d != part.dim)
    width = tile[part.dim]
    return along and abs(part.at.factor) == width and count * width == whole[part.dim]
