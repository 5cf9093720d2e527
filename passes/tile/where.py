"""Insert the ops of a group into a block, each value and slice once."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.tile.axes import Key


class Where:
    """The insertion point of a group: a block, with values of the group by key and equal slices."""

    def __init__(self, block: Block, before: Operation | None, outer: "Where | None" = None):
        self.block = block
        self.before = before
        self.values: dict[Key, SSAValue] = dict(outer.values) if outer else {}
        self.slices: dict[object, SSAValue] = dict(outer.slices) if outer else {}
        self.location: LocationAttr = outer.location if outer else UnknownLoc()
        self.outer = outer
        self.level: int = outer.level + 1 if outer else 0

    def add(self, op: Operation) -> Operation:
        """Insert an op; if it has no source op, it gets the location of the group."""
        if isinstance(op.location, UnknownLoc):
            op.location = self.location
        if self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)
        return op

    def at(self, level: int) -> "Where":
        """Return the enclosing scope within this many loops."""
        found = self
        while found.level > level:
            assert found.outer is not None
            found = found.outer
        return found

    def index(self, number: int) -> SSAValue:
        """Return a constant index."""
        key = ("index", number)
        if key not in self.slices:
            op = arith.ConstantOp(IntegerAttr(number, IndexType()))
            self.slices[key] = self.add(op).results[0]
        return self.slices[key]
