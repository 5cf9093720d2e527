"""Read slices of arrays in HBM by `tensor.extract_slice`.

`hlo.slice` is a view of its operand, so partition digits have to divide its size and its start. A
load has no such limit: it reads a slice from its address.
"""

from math import prod

from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.loops import LoopOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.layouts.costs import run_of
from neuronir.passes.tile.layouts.plans import dtype
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.retile import slice_properties

SHORT = 512
"""Rows of a slice with fewer bytes than this are loaded together with their surroundings, unless
these take longer.
"""
DESCRIPTOR = 2048
"""Bytes that are moved in the time of a short row."""
ENOUGH = 64
"""From this number of partitions, a value is loaded as a whole at full rate."""


def read_slices(block: Block, machine: Machine) -> None:
    """Replace slices of arrays in HBM by `tensor.extract_slice`, unless they have strides or short
    rows, or overlap: then the array is loaded once. Slices are taken before loops that do not
    define the array.
    """
    values = Values(block, machine)
    for op in values.ops:
        if op.name != "hlo.slice" or any(n != 1 for n in ints(op, "strides")):
            continue
        (source,), (result,) = op.operands, op.results
        size = dtype(source).size
        if not values.in_hbm(source):
            continue
        if not _moves(result, values) and _read_at_once(source, machine):
            continue
        run = min(values.run(source), run_of(shape_of(result), shape_of(source)))
        rows = prod(shape_of(result)) // run
        if size * run < SHORT and rows * DESCRIPTOR >= size * prod(shape_of(source)):
            continue
        new = ExtractSliceOp.build(
            operands=[source, [], [], []],
            result_types=[result.type],
            properties=slice_properties(ints(op, "start_indices"), shape_of(result)),
        )
        new.location = op.location
        anchor = _outermost(op, source)
        assert anchor.parent is not None
        anchor.parent.insert_op_before(new, anchor)
        result.replace_all_uses_with(new.result)
        op.detach()
        op.erase()


def _moves(value: SSAValue, values: Values) -> bool:
    """Return whether a slice is only inserted into arrays in HBM: a transfer does both."""
    return all(
        isinstance(use.operation, InsertSliceOp)
        and use.index == 0
        and values.in_hbm(use.operation.dest)
        for use in value.uses
    )


def _outermost(op: Operation, source: SSAValue) -> Operation:
    """Return an op, or the outermost loop around it in front of which a value is known.

    What a loop only reads is loaded once, and not in each iteration.
    """
    home = source.owner if isinstance(source.owner, Block) else source.owner.parent
    anchor = op
    while anchor.parent is not home:
        loop = anchor.parent_op()
        if not isinstance(loop, LoopOp):
            break
        anchor = loop
    return anchor


def _read_at_once(source: SSAValue, machine: Machine) -> bool:
    """Return whether slices of an array have more elements than the array, and the dimensions along
    which none is a part fill the partitions.
    """
    shape = shape_of(source)
    slices = [u.operation for u in source.uses if u.operation.name == "hlo.slice"]
    if len(slices) < 2 or any(op.parent is not slices[0].parent for op in slices):
        return False
    sizes = [shape_of(op.results[0]) for op in slices]
    if sum(map(prod, sizes)) <= prod(shape):
        return False
    kept = tuple(n for d, n in enumerate(shape) if all(s[d] == n for s in sizes))
    return spread(kept, machine.partitions) >= ENOUGH
