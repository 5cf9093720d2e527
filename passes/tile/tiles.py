"""Compute the tile of a group along each axis, in an iteration of its loops or beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from xdsl.ir import SSAValue

from neuronir.passes.tile.axes import Key
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.group import Group, Loop


@dataclass(frozen=True)
class Position:
    """The start of a tile:

    `value` (an index) * factor + constant; a constant alone without a value.
    """

    value: SSAValue | None
    number: int
    factor: int = 1


@dataclass(frozen=True)
class Tile:
    """A tile along an axis: its start and its size."""

    start: Position
    size: int


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles along all axes, given those of the looped axes."""

    group: Group
    given: Mapping[int, Tile] = field(default_factory=dict)

    def beside(self, axis: int, tile: Tile) -> "Tiles":
        """Return a copy with a tile along one more axis."""
        return Tiles(self.group, {**self.given, axis: tile})

    @cached_property
    def _known(self) -> dict[int, Tile | None]:
        return {}

    def of(self, axis: int) -> Tile | None:
        """Return the tile along an axis, or None for the full axis."""
        if axis not in self._known:
            self._known[axis] = self._find(axis)
        return self._known[axis]

    def _find(self, axis: int) -> Tile | None:
        derived = self.group.related.derived.get(axis)
        if derived is None:
            return self.given.get(axis)
        base = self.of(derived.base)
        if base is None:
            return None
        size = self.group.related.axes.size(axis)
        at = base.start
        begin = at.number * derived.stride + derived.first
        end = begin + (base.size - 1) * derived.stride + derived.last - derived.first + 1
        if at.value is not None:
            return Tile(Position(at.value, begin, at.factor * derived.stride), end - begin)
        begin, end = min(size, max(0, begin)), max(0, min(size, end))
        end = max(begin, end)
        return Tile(Position(None, begin), end - begin)

    def extent(self, axis: int) -> int:
        """Return the positions of an axis in a tile."""
        tile = self.of(axis)
        return self.group.related.axes.size(axis) if tile is None else tile.size

    def number(self, axis: int) -> int:
        """Return the constant in the start of a tile."""
        tile = self.of(axis)
        return 0 if tile is None else tile.start.number

    def sizes(self, rows: Sequence[Sequence[int]]) -> list[int]:
        """Return the shape of a tile with dimensions of these axes."""
        return [prod(self.extent(a) for a in row) for row in rows]

    def shape(self, key: Key) -> list[int]:
        """Return the shape of a tile of a value."""
        return self.sizes(self.group.related.of(key))


def even_rounds(group: Group, outer: Tiles, loop: Loop) -> tuple[int, int]:
    """Return the range of iterations of a loop whose tiles are full and equal.

    No tile in the range is cut at the edge of a padded array.
    """
    count = loop.size // loop.tile
    derived = [a for a in group.related.derived if group.related.base(a) == loop.axis]
    if not derived:
        return 0, count
    first = 0
    while first < count and _cut(group, outer, loop, first, derived):
        first += 1
    last = count
    while last > first and _cut(group, outer, loop, last - 1, derived):
        last -= 1
    return first, last


def rest(loop: Loop, partitions: int) -> list[tuple[int, int]]:
    """Return the start and the size of each iteration after those of full tiles.

    There is at most one, or two if its size does not divide over partitions: a multiple of their
    number, and the remainder. For example, 1579 is prime and becomes 1536 and 43.
    """
    size = loop.size % loop.tile
    start = loop.size - size
    if size <= partitions or 2 * spread((size,), partitions) >= partitions:
        return [(start, size)] if size else []
    even = size - size % partitions
    return [(start, even), (start + even, size - even)]


def _cut(group: Group, outer: Tiles, loop: Loop, number: int, derived: Sequence[int]) -> bool:
    at = number * loop.tile
    here = outer.beside(loop.axis, Tile(Position(None, at), loop.tile))
    for axis in derived:
        how = group.related.derived[axis]
        base = here.of(how.base)
        assert base is not None
        begin = base.start.number * how.stride + how.first
        end = begin + (base.size - 1) * how.stride + how.last - how.first + 1
        if begin < 0 or end > group.related.axes.size(axis):
            return True
    return False


def uneven(group: Group, loops: Sequence[Loop]) -> int:
    """Return the iterations of a nest to unroll (those at edges), and the remaining ones."""
    total = 0
    for loop in loops:
        first, last = even_rounds(group, Tiles(group), loop)
        total += first + loop.rounds - last
    return total
