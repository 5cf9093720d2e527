"""Slice operands and insert results: where the tile of a value lies in the whole value."""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.data_movement import ReshapeOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.axes import Axes
from neuronir.passes.tile.retile import resized, slice_properties
from neuronir.passes.tile.tiles import Tiles
from neuronir.passes.tile.where import Where


class Slicer:
    """Writes slices of values; each of their dimensions is a list of `axes`, outermost first."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    def offset(self, where: Where, row: Sequence[int], tiles: Tiles) -> SSAValue | None:
        """Return where a tile starts along a dimension; None at 0."""
        total: SSAValue | None = None
        fixed = 0
        stride = 1
        for axis in reversed(row):
            tile = tiles.of(axis)
            if tile is not None:
                at = tile.start
                fixed += at.number * stride
                value = at.value
                if value is not None:
                    if stride * at.factor != 1:
                        factor = where.index(stride * at.factor)
                        value = where.add(arith.MuliOp(value, factor)).results[0]
                    if total is not None:
                        value = where.add(arith.AddiOp(total, value)).results[0]
                    total = value
            stride *= self.axes.size(axis)
        if fixed:
            number_ = where.index(fixed)
            if total is None:
                return number_
            return where.add(arith.AddiOp(total, number_)).results[0]
        return total

    def split(
        self, rows: Sequence[Sequence[int]], extent: Callable[[int], int]
    ) -> list[list[int]] | None:
        """Return the dimensions with split ones separate; None if none is split."""
        if not any(self.axes.apart(row, extent) for row in rows):
            return None
        out: list[list[int]] = []
        for row in rows:
            out += [[axis] for axis in row] if self.axes.apart(row, extent) else [list(row)]
        return out

    def sizes(self, rows: Sequence[Sequence[int]]) -> list[int]:
        """Return the shape of a whole value."""
        return [prod(self.axes.size(a) for a in row) for row in rows]

    def slice(
        self,
        where: Where,
        value: SSAValue,
        rows: Sequence[Sequence[int]],
        tiles: Tiles,
    ) -> SSAValue:
        """Extract the tile of a value."""
        split = self.split(rows, tiles.extent)
        if split is not None:
            value = where.add(reshape(value, self.sizes(split))).results[0]
        places = split or rows
        offsets, given = self._places(where, places, tiles)
        tile = tiles.sizes(places)
        op = ExtractSliceOp.build(
            operands=[value, offsets, [], []],
            result_types=[resized(value.type, tile)],
            properties=slice_properties(given, tile),
        )
        found = where.add(op).results[0]
        if split is not None:
            found = where.add(reshape(found, tiles.sizes(rows))).results[0]
        return found

    def _places(
        self, where: Where, rows: Sequence[Sequence[int]], tiles: Tiles
    ) -> tuple[list[SSAValue], list[int]]:
        offsets: list[SSAValue] = []
        given: list[int] = []
        for row in rows:
            offset = self.offset(where, row, tiles)
            if offset is None:
                given.append(0)
            elif isinstance(offset.owner, arith.ConstantOp):
                attribute = offset.owner.value
                assert isinstance(attribute, IntegerAttr)
                given.append(int(attribute.value.data))
            else:
                offsets.append(offset)
                given.append(DYNAMIC_INDEX)
        return offsets, given

    def insert(
        self,
        where: Where,
        made: SSAValue,
        acc: SSAValue,
        rows: Sequence[Sequence[int]],
        tiles: Tiles,
    ) -> SSAValue:
        """Insert the tile `made` into an output."""
        if tuple(tiles.sizes(rows)) != shape_of(made):
            made = where.add(reshape(made, tiles.sizes(rows))).results[0]
        offsets, given = self._places(where, rows, tiles)
        op = InsertSliceOp.build(
            operands=[made, acc, offsets, [], []],
            result_types=[acc.type],
            properties=slice_properties(given, tiles.sizes(rows)),
        )
        return where.add(op).results[0]


def reshape(value: SSAValue, shape: Sequence[int]) -> Operation:
    """Return a value in another shape."""
    return ReshapeOp.create(operands=[value], result_types=[resized(value.type, shape)])
