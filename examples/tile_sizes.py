"""A pass for `neuron-opt --load` that changes the tile size that tile-fuse has chosen.

The tiling of each op, including ops of other plugins, determines how the tiles of a loop depend on
each other; `retile` creates an op of another size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.diagnostics import remark
from neuronir.dialects.support.location import file_line_col
from neuronir.passes import statistics
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.axes import Key, Related
from neuronir.passes.tile.retile import resized, retile, slice_properties


class CannotResize(Exception):
    """The reason for which a loop keeps its tile size."""


@dataclass(frozen=True)
class SetTilePass(ModulePass):
    """Set the tile size of each innermost loop over tiles to `size` positions.

    A loop that cannot be changed stays as it is, and a remark gives the reason. Runs between
    tile-fuse and tile-assign-layouts.
    """

    name = "sizes-set-tile"
    size: int = 128

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, scf.ForOp)]:
            if any(isinstance(inner, scf.ForOp) for inner in loop.body.block.ops):
                continue
            try:
                Resized(loop, self.size).write()
                statistics.record(self.name, "loops")
            except CannotResize as why:
                remark(f"tiles keep their size: {why}", location=file_line_col(loop))


def number(value: SSAValue) -> int:
    """The value of a constant index."""
    if not isinstance(value.owner, arith.ConstantOp):
        raise CannotResize("the trip count of the loop is not known")
    assert isinstance(value.owner.value, IntegerAttr)
    return int(value.owner.value.value.data)


class Resized:
    """A loop with tiles of another size."""

    def __init__(self, loop: scf.ForOp, size: int) -> None:
        self.loop = loop
        self.size = size
        first, last, self.old = (number(v) for v in (loop.lb, loop.ub, loop.step))
        if size < 1 or (last - first) % size:
            raise CannotResize(f"{last - first} positions are no multiple of {size}")
        body = loop.body.block
        self.worked = [op for op in body.ops if not _stands_by(op)]
        self.related = Related(self.worked)
        if not self.related.fits:
            raise CannotResize("what it works on has no axes in common")
        self.moved = self._moved(body)

    def _moved(self, body: Block) -> frozenset[int]:
        """The axis that the tiles move along: of all slices that begin where the round says."""
        related = self.related
        found: set[int] = set()
        for op in self.worked:
            for i, v in enumerate(op.operands):
                if isinstance(v.owner, ExtractSliceOp) and v.owner.parent is body:
                    rows = related.of(related.key(op, i))
                    found.update(a for d in self.moving(v.owner) for a in rows[d])
        for op in body.ops:
            if isinstance(op, InsertSliceOp) and op.source in related.dims:
                rows = related.of(op.source)
                found.update(a for d in self.moving(op) for a in rows[d])
        fixed = related.whole | frozenset(related.reduced) | frozenset(related.derived)
        if fixed & found:
            raise CannotResize("an op needs more of its operand than the same tile")
        if any(related.axes.size(a) != self.old for a in found):
            raise CannotResize("tiles are in pieces")
        for key in related.inputs():
            op, i = key
            owner = op.operands[i].owner
            slice_ = isinstance(owner, ExtractSliceOp) and owner.parent is body
            if not slice_ and found & set(related.leaves(key)):
                raise CannotResize(f"a tile for {op.name} is made outside of the loop")
        return frozenset(found)

    def moving(self, op: ExtractSliceOp | InsertSliceOp) -> list[int]:
        """The dimensions along which a slice begins where the round says."""
        offsets = ints(op, "static_offsets")
        found = [d for d, n in enumerate(offsets) if n == DYNAMIC_INDEX]
        if any(v is not self.loop.body.block.args[0] for v in op.offsets):
            raise CannotResize("a slice begins elsewhere than the round says")
        return found

    def shape(self, key: Key) -> list[int]:
        """The shape of a value with tiles of the new size."""
        size = self.related.axes.size
        return [
            prod(self.size if a in self.moved else size(a) for a in row)
            for row in self.related.of(key)
        ]

    def write(self) -> None:
        """Put the loop in the place of the old one."""
        old = self.loop
        body = old.body.block
        new = Block(arg_types=[a.type for a in body.args])
        known: dict[SSAValue, SSAValue] = dict(zip(body.args, new.args, strict=True))
        for op in body.ops:
            operands = [known.get(v, v) for v in op.operands]
            copy = self._copy(op, operands)
            new.add_op(copy)
            known.update(zip(op.results, copy.results, strict=True))
        assert old.parent is not None
        step = arith.ConstantOp(IntegerAttr(self.size, IndexType()))
        loop = scf.ForOp(old.lb, old.ub, step.result, old.iter_args, Region(new))
        loop.location = old.location
        old.parent.insert_ops_before([step, loop], old)
        for before, after in zip(old.results, loop.results, strict=True):
            before.replace_all_uses_with(after)
        old.detach()
        old.erase()

    def _copy(self, op: Operation, operands: Sequence[SSAValue]) -> Operation:
        if op in self.worked:
            return retile(op, operands, self.shape(op.results[0]))
        new = op.clone(dict(zip(op.operands, operands, strict=True)))
        if isinstance(op, ExtractSliceOp | InsertSliceOp):
            sizes = list(ints(op, "static_sizes"))
            for d in self.moving(op):
                sizes[d] = self.size
            new.properties.update(slice_properties(ints(op, "static_offsets"), sizes))
            if isinstance(new, ExtractSliceOp):
                return _of_type(new, resized(new.result.type, sizes))
        return new


def _of_type(op: Operation, type_: Attribute) -> Operation:
    """An op with one result, which has another type."""
    new = type(op).create(operands=op.operands, result_types=[type_], properties=op.properties)
    new.location = op.location
    op.erase()
    return new


def _stands_by(op: Operation) -> bool:
    """Whether an op only says where tiles lie."""
    return op.name.startswith(("arith.", "scf.", "tensor.", "tile."))


PASSES = [SetTilePass]
