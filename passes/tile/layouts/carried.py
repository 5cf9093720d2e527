"""Trace arrays into which loops insert tiles, through loops and reshapes."""

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.support.loops import (
    LoopOp,
    final_values,
    first_operand,
    first_result,
    initial_value,
    initial_values,
)
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.tile.layouts.maps import Partition, cut, through_dims

RESHAPES = ("hlo.reshape", "hlo.bitcast")
"""Ops that leave an array in HBM unchanged."""


def final(value: SSAValue, *, reshapes: bool = True) -> SSAValue:
    """Return a tensor after all loops that insert tiles into it, and after `reshapes`."""
    while True:
        found = None
        for use in value.uses:
            loop: Operation | None = use.operation
            if isinstance(loop, LoopOp) and use.index >= first_operand(loop):
                found = final_values(loop)[use.index - first_operand(loop)]
            elif isinstance(use.operation, InsertSliceOp) and use.index == 1:
                found = use.operation.result
            elif isinstance(use.operation, scf.YieldOp):
                loop = use.operation.parent_op()
                assert loop is not None
                found = loop.results[use.index]
            elif use.operation.name in RESHAPES and value.has_one_use() and reshapes:
                found = use.operation.results[0]
        if found is None:
            return value
        value = found


def assembled(value: SSAValue) -> bool:
    """Return whether loops insert tiles into a value."""
    if isinstance(value, BlockArgument):
        begin = initial_value(value)
        return begin is not None and assembled(begin)
    if isinstance(value.owner, LoopOp):
        assert isinstance(value, OpResult)
        return assembled(initial_values(value.owner)[value.index - first_result(value.owner)])
    return isinstance(value.owner, EmptyOp | InsertSliceOp)


def carriers(value: SSAValue) -> Iterator[SSAValue]:
    """Return the values that carry an array: loop arguments, back to where it is created."""
    while True:
        yield value
        if isinstance(value, BlockArgument):
            begin = initial_value(value)
            assert begin is not None
            value = begin
        elif isinstance(value.owner, InsertSliceOp):
            value = value.owner.dest
        elif isinstance(value.owner, LoopOp):
            assert isinstance(value, OpResult)
            value = initial_values(value.owner)[value.index - first_result(value.owner)]
        else:
            return


def part_of(op: InsertSliceOp, partition: Partition) -> Partition | None:
    """Return the partition of a tile of an array in `partition`; None if its digits are split."""
    tile, target = shape_of(op.source), shape_of(op.dest)
    pieces = cut(partition, target)
    if pieces is None:
        return None
    strides = row_major(target)
    starts = ints(op.static_offsets)
    for a, _, d in pieces:
        if d < 0 or tile[d] == target[d]:
            continue
        reach = a.end // strides[d]
        begin = 0 if starts[d] == DYNAMIC_INDEX else starts[d]
        if tile[d] % reach or begin % reach:
            return None
    return through_dims(partition, target, tile, list(range(len(tile))))
