"""Write groups as loops: `scf.for` over tiles, with slices of operands and results."""

from collections.abc import Iterator

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    IndexType,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.constants import ConstantOp, IotaOp, constant_array, constant_op
from neuronir.dialects.hlo.data_movement import BroadcastOp
from neuronir.dialects.hlo.elementwise import AddOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.names import base_name, set_hint
from neuronir.dialects.tile.interface import Window, tiling_of
from neuronir.dialects.tile.ops import EmptyOp, IndexOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import OP_CLASSES
from neuronir.passes.hlo.support.values import element
from neuronir.passes.tile.group import Group, is_view
from neuronir.passes.tile.layouts.carried import RESHAPES
from neuronir.passes.tile.retile import resized, retile
from neuronir.passes.tile.slices import Slicer, reshape
from neuronir.passes.tile.sums import carried_element, conversion
from neuronir.passes.tile.tiles import Position, Tile, Tiles, even_rounds, rest
from neuronir.passes.tile.where import Where
from neuronir.passes.tile.whole import tiled, whole


class Nest:
    """Writes one group."""

    def __init__(
        self,
        group: Group,
        mapping: dict[SSAValue, SSAValue],
        resident: frozenset[SSAValue],
        partitions: int,
    ) -> None:
        self.group = group
        self.mapping = mapping
        self.resident = resident
        self.partitions = partitions
        self.related = group.related
        self.slicer = Slicer(group.related.axes)
        self.depths = {op: group.depth_of(group.axes_of(op)) for op in group.ops}
        for op in reversed(group.ops):  # a view is rebuilt at its reader
            if is_view(op):
                readers = [
                    self.depths[use.operation]
                    for use in op.results[0].uses
                    if use.operation in group.inside
                ]
                self.depths[op] = max([self.depths[op], *readers])

    def write(self, where: Where) -> None:
        """Write the group; its outputs become values of the mapping."""
        outputs = list(self.group.outputs)
        located = (op.location for op in reversed(self.group.ops))
        where.location = next(
            (at for at in located if not isinstance(at, UnknownLoc)), UnknownLoc()
        )
        if not self.group.loops:
            self._ops(where, 0, Tiles(self.group))
            for v in outputs:
                self.mapping[v] = where.values[v]
                stays = v in self.resident or whole(_op(v)) or self._only_sliced(v)
                if _read_again(v) and not stays:
                    begun = self._begin(where, v)
                    self.mapping[v] = self._insert(where, v, begun, Tiles(self.group))
            return
        begin = [self._begin(where, v) for v in outputs if self.home(v)]
        moved = [v for v in outputs if self.home(v)]
        done = self._level(where, 0, Tiles(self.group), dict(zip(moved, begin, strict=True)))
        for v in outputs:
            self.mapping[v] = self._joined(where, v, done[v]) if v in done else where.values[v]

    def _only_sliced(self, value: SSAValue) -> bool:
        """Return whether a value is a slice of an array in HBM that only ops lowered as a whole
        read: it has an address without a copy.
        """
        op = _op(value)
        if op.name != "hlo.slice" or op.operands[0].owner in self.group.inside:
            return False
        return all(whole(reader) for reader in _readers(value))

    def _begin(self, where: Where, value: SSAValue) -> SSAValue:
        """Create the array into which the tiles of an output are inserted."""
        memory = "sbuf" if value in self.resident else "hbm"
        type_ = resized(value.type, self.slicer.sizes(self._rows(value)))
        array = where.add(EmptyOp.make(memory, type_)).results[0]
        set_hint(array, base_name(value))
        return array

    def _rows(self, value: SSAValue) -> list[list[int]]:
        """Return the dimensions of the array in which an output is assembled.

        Dimensions are split where a tile would otherwise be in pieces.
        """
        rows = self.related.of(value)
        return self.slicer.split(rows, self.group.extent) or rows

    def _insert(self, where: Where, value: SSAValue, acc: SSAValue, tiles: Tiles) -> SSAValue:
        """Insert a tile into an output."""
        return self.slicer.insert(where, where.values[value], acc, self._rows(value), tiles)

    def _joined(self, where: Where, value: SSAValue, found: SSAValue) -> SSAValue:
        """Return an output in the shape that the program gives it."""
        if shape_of(found) == shape_of(value):
            return found
        return where.add(reshape(found, shape_of(value))).results[0]

    def home(self, value: SSAValue) -> int:
        """Return the loops that move an output: partial sums over other loops are complete after
        them.
        """
        return self.group.depth_of(self.related.based(self.related.leaves(value)))

    def summed(self, value: SSAValue) -> bool:
        """Return whether loops accumulate partial results of an output."""
        return self._depth(value) > self.home(value)

    def _level(
        self,
        where: Where,
        level: int,
        tiles: Tiles,
        accs: dict[SSAValue, SSAValue],
    ) -> dict[SSAValue, SSAValue]:
        """Write the ops of a level and its inner loops; return the new outputs.

        An output is inserted into a carried array in the loops that move it. A sum over further
        loops is carried as a tile in those.
        """
        accs = dict(accs)
        self._ops(where, level, tiles)
        sums = [v for v in self.group.outputs if self.summed(v)]
        if level < len(self.group.loops):
            inner = {v: a for v, a in accs.items() if self._depth(v) > level}
            begun = [v for v in sums if self.home(v) == level]
            inner.update((v, self._initial(where, v, tiles)) for v in begun)
            done = self._loop(where, level, tiles, inner)
            for v in begun:
                where.values[v] = self._converted(where, done.pop(v), element(v))
                if not self.home(v):
                    accs[v] = where.values[v]
            accs.update(done)
        for v in self.group.outputs:
            if v in sums and self._depth(v) == level:
                accs[v] = self._combine(where, v, accs[v])
            elif self.home(v) == level and level:
                accs[v] = self._insert(where, v, accs[v], tiles)
        return accs

    def _depth(self, value: SSAValue) -> int:
        return self.depths[_op(value)]

    def _initial(self, where: Where, value: SSAValue, tiles: Tiles) -> SSAValue:
        """Return the initial value of an accumulator."""
        op = value.owner
        assert isinstance(op, Operation)
        type_ = TensorType(carried_element(value), list(tiles.shape(value)))
        if op.name == "hlo.reduce":
            number = self.mapping.get(op.operands[1], op.operands[1])
            if number in where.values:
                number = where.values[number]
            elif isinstance(number.owner, Operation) and number.owner in self.group.inside:
                number = where.add(number.owner.clone()).results[0]  # a constant
            number = self._converted(where, number, type_.element_type)
        else:
            zero = np.zeros((), np_dtype(type_.element_type))
            number = where.add(constant_op(zero, element=type_.element_type)).results[0]
        return where.add(_broadcast(number, type_)).results[0]

    def _converted(self, where: Where, value: SSAValue, kind: Attribute) -> SSAValue:
        """Convert a value to an element type; fold the conversion of a scalar constant."""
        op = conversion(value, kind)
        if op is None:
            return value
        if isinstance(value.owner, ConstantOp) and shape_of(value) == ():
            op = constant_op(constant_array(value.owner).astype(np_dtype(kind)), element=kind)
        return where.add(op).results[0]

    def _combine(self, where: Where, value: SSAValue, acc: SSAValue) -> SSAValue:
        """Combine an accumulator with a partial result."""
        op = value.owner
        assert isinstance(op, Operation)
        tiling = tiling_of(op)
        assert tiling is not None
        partial = self._converted(where, where.values[value], element(acc))
        new = OP_CLASSES[tiling.combine].create(operands=[acc, partial], result_types=[acc.type])
        new.location = op.location
        return where.add(new).results[0]

    def _loop(
        self,
        where: Where,
        level: int,
        tiles: Tiles,
        accs: dict[SSAValue, SSAValue],
    ) -> dict[SSAValue, SSAValue]:
        loop = self.group.loops[level]
        first, last = even_rounds(self.group, tiles, loop)
        for n in range(first):
            accs = self._round(where, level, tiles, accs, n * loop.tile, loop.tile)
        if last - first > 1:
            accs = self._rounds(where, level, tiles, accs, first, last)
            first = last
        for n in range(first, loop.size // loop.tile):
            accs = self._round(where, level, tiles, accs, n * loop.tile, loop.tile)
        for start, size in rest(loop, self.partitions):
            accs = self._round(where, level, tiles, accs, start, size)
        return accs

    def _round(
        self,
        where: Where,
        level: int,
        tiles: Tiles,
        accs: dict[SSAValue, SSAValue],
        start: int,
        size: int,
    ) -> dict[SSAValue, SSAValue]:
        """Write one iteration, unrolled, over `size` positions from `start`."""
        axis = self.group.loops[level].axis
        tile = Tile(Position(None, start), size)
        here = Where(where.block, where.before, where)
        return self._level(here, level + 1, tiles.beside(axis, tile), accs)

    def _rounds(
        self,
        where: Where,
        level: int,
        tiles: Tiles,
        accs: dict[SSAValue, SSAValue],
        first: int,
        last: int,
    ) -> dict[SSAValue, SSAValue]:
        """Write equal iterations as a loop."""
        loop = self.group.loops[level]
        values = list(accs)
        low, high, step = (where.index(n) for n in (0, (last - first) * loop.tile, loop.tile))
        body = Block(arg_types=[IndexType(), *(accs[v].type for v in values)])
        inside = Where(body, None, where)
        tile = Tile(Position(body.args[0], first * loop.tile), loop.tile)
        inner = self._level(
            inside,
            level + 1,
            tiles.beside(loop.axis, tile),
            dict(zip(values, body.args[1:], strict=True)),
        )
        inside.add(scf.YieldOp(*(inner[v] for v in values)))
        op = scf.ForOp(low, high, step, [accs[v] for v in values], Region(body))
        where.add(op)
        return dict(zip(values, op.results, strict=True))

    # ops

    def _ops(self, where: Where, level: int, tiles: Tiles) -> None:
        for op in self.group.ops:
            if self.depths[op] == level:
                self._op(where, op, tiles)

    def _op(self, where: Where, op: Operation, tiles: Tiles) -> None:
        if any(n <= 0 for r in op.results for n in tiles.shape(r)):
            return  # all of the operand is padding
        padding = op.name == "hlo.pad" and 0 in tiles.shape(self.related.key(op, 0))
        if padding:
            number = self._operand(where, op, 1, tiles)
            type_ = resized(op.results[0].type, tiles.shape(op.results[0]))
            where.values[op.results[0]] = where.add(_broadcast(number, type_)).results[0]
            return
        operands = [self._operand(where, op, i, tiles) for i in range(len(op.operands))]
        if whole(op):
            copy = where.add(clone(op, dict(zip(op.operands, operands, strict=True))))
            where.values.update(zip(op.results, copy.results, strict=True))
            return
        result = op.results[0]
        if op.name == "hlo.reduce" and result in self.group.outputs and self.summed(result):
            operands[1] = self._neutral(where, op)
        shape = tiles.shape(result)
        edges = self._edges(op, tiles)
        if op.name == "hlo.pad" and tuple(shape) == shape_of(operands[0]):
            where.values[result] = operands[0]  # a tile that is inside
            return
        partial = op.name == "hlo.dot" and result in self.group.outputs and self.summed(result)
        new = retile(op, operands, shape, edges, carried_element(result) if partial else None)
        if isinstance(op, IotaOp):  # loop-invariant except for its start
            where.values[result] = self._moved(where, op, self._iota(where, new), tiles)
            return
        where.values[result] = where.add(new).results[0]

    def _edges(self, op: Operation, tiles: Tiles) -> dict[int, int]:
        """Return, for windowed dimensions, the start of the needed part relative to the operand's
        tile.

        The start is negative in padding. A windowed dimension that moves has one axis, as has the
        dimension of the result: of split ones everything is needed (Related._derive).
        """
        tiling = tiled(op)
        found: dict[int, int] = {}
        if tiling is None or not tiling.operands:
            return found
        mine, result = self.related.of(self.related.key(op, 0)), self.related.of(op.results[0])
        for d, need in enumerate(tiling.operands[0]):
            if isinstance(need, Window):
                base = tiles.number(result[need.dim][0]) if result[need.dim] else 0
                begin = tiles.number(mine[d][0]) if mine[d] else 0
                found[d] = base * need.stride + need.first - begin
        return found

    def _neutral(self, where: Where, op: Operation) -> SSAValue:
        """Return the identity for a partial result: the whole reduction has its own initial
        value.
        """
        type_ = op.operands[1].type
        assert isinstance(type_, TensorType)
        tiling = tiling_of(op)
        assert tiling is not None
        number = neutral_element(tiling.combine.removeprefix("hlo."), type_.element_type)
        if tiling.combine == "hlo.add" and is_float(type_.element_type):
            number = -0.0
        kind = type_.element_type
        return where.add(constant_op(np.asarray(number, np_dtype(kind)), element=kind)).results[0]

    def _iota(self, where: Where, new: Operation) -> SSAValue:
        """Return an iota before all loops."""
        first = where.at(0)
        mark = ("iota", new.results[0].type, new.properties["iota_dimension"])
        if mark not in first.slices:
            first.slices[mark] = first.add(new).results[0]
        return first.slices[mark]

    def _moved(self, where: Where, op: IotaOp, tile: SSAValue, tiles: Tiles) -> SSAValue:
        """Return an iota whose tile does not start at 0."""
        row = self.related.of(op.results[0])[int(op.iota_dimension.value.data)]
        if self.related.axes.apart(row, tiles.extent):
            raise NeuronError("NIR_TIL004", "a tile of an iota is not contiguous")
        offset = self.slicer.offset(where, row, tiles)
        if offset is None:
            return tile
        type_ = tile.type
        number = where.add(IndexOp.make(offset, element(tile))).results[0]
        wide = where.add(_broadcast(number, type_)).results[0]
        return where.add(AddOp.create(operands=[tile, wide], result_types=[type_])).results[0]

    def _operand(self, where: Where, op: Operation, which: int, tiles: Tiles) -> SSAValue:
        key = self.related.key(op, which)
        if not isinstance(key, tuple):
            return where.values[key]
        value = self.mapping.get(op.operands[which], op.operands[which])
        rows = self.related.of(key)
        moving = [a for row in rows for a in row if tiles.of(a) is not None]
        if not moving:
            return value
        # axes that do not move are equal if they have one size
        mark = (
            value,
            tuple(
                tuple((a in moving, a if a in moving else self.related.axes.size(a)) for a in row)
                for row in rows
            ),
        )
        if mark not in where.slices:
            # before loops that do not move it
            here = where.at(self.group.depth_of(self.related.based(moving)))
            if mark not in here.slices:
                here.slices[mark] = self.slicer.slice(here, value, rows, tiles)
            where.slices[mark] = here.slices[mark]
        return where.slices[mark]


def _op(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _read_again(value: SSAValue) -> bool:
    """Return whether a value has readers other than the return."""
    return any(use.operation.name not in ("func.return", "hlo.tuple") for use in value.uses)


def _readers(value: SSAValue) -> Iterator[Operation]:
    """Return the readers of a value, through reshapes."""
    for use in value.uses:
        if use.operation.name in RESHAPES:
            yield from _readers(use.operation.results[0])
        else:
            yield use.operation


def _broadcast(number: SSAValue, type_: Attribute) -> Operation:
    """Return a uniform value."""
    return BroadcastOp.create(
        operands=[number], result_types=[type_], properties={"dimensions": i64_array([])}
    )
