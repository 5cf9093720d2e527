"""Read slices of arrays in HBM by `tensor.extract_slice`.

`hlo.slice` is a view of its operand, so partition digits have to divide its size and its start. A
load has no such limit: it reads a slice from its address.
"""

from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.layouts.costs import run_of
from neuronir.passes.tile.layouts.values import Values, kind_of
from neuronir.passes.tile.retile import slice_properties

SHORT = 512
"""Rows of a slice with fewer bytes than this are loaded together with their surroundings."""


def read_slices(block: Block, machine: Machine) -> None:
    """Replace slices of arrays in HBM by `tensor.extract_slice`, unless they have strides or short
    rows.
    """
    values = Values(block, machine)
    for op in values.ops:
        if op.name != "hlo.slice" or any(n != 1 for n in ints(op, "strides")):
            continue
        (source,), (result,) = op.operands, op.results
        size = kind_of(source).size
        if not values.in_hbm(source) or size * values.run(source) < SHORT:
            continue
        if size * run_of(shape_of(result), shape_of(source)) < SHORT:
            continue
        new = ExtractSliceOp.build(
            operands=[source, [], [], []],
            result_types=[result.type],
            properties=slice_properties(ints(op, "start_indices"), shape_of(result)),
        )
        new.location = op.location
        assert op.parent is not None
        op.parent.insert_op_before(new, op)
        result.replace_all_uses_with(new.result)
        op.detach()
        op.erase()
