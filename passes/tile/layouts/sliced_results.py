"""Store values in HBM that loops read in slices which no layout on the chip divides into.

Partition digits have to divide a slice in SBUF: 29 rows of 1,733 elements hold a row of 50,257, but
no tile of 1,536. A load reads a slice from its address.
"""

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Block, Operation

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.costs import fits
from neuronir.passes.tile.layouts.maps import Partition
from neuronir.passes.tile.layouts.plans import dtype
from neuronir.passes.tile.layouts.values import Use, Values


def store_sliced(block: Block, machine: Machine) -> None:
    """Store such results of the ops of a block behind them; their slices are loaded."""
    values = Values(block, machine)
    for op in list(block.ops):
        if len(op.results) != 1 or not values.laid_out(op):
            continue
        (value,) = op.results
        uses = [use for use in values.uses(value) if _sliced_first(use)]
        if not uses or any(
            _fits(op, c, machine) and all(values.forward(u.views, c) is not None for u in uses)
            for c in candidates(shape_of(value), machine.partitions)
        ):
            continue
        slices = [u.operation for u in value.uses if isinstance(u.operation, ExtractSliceOp)]
        empty, sizes = EmptyOp.make("hbm", value.type), list(shape_of(value))
        start = [0] * len(sizes)
        stored = InsertSliceOp.from_static_parameters(value, empty.tensor, start, sizes)
        empty.location = stored.location = op.location
        block.insert_ops_after([empty, stored], op)
        for one in slices:
            one.operands[0] = stored.result


def _sliced_first(use: Use) -> bool:
    """Return whether an op reads a slice of the value itself."""
    return bool(use.views) and isinstance(use.views[-1], ExtractSliceOp)


def _fits(op: Operation, partition: Partition, machine: Machine) -> bool:
    """Return whether the result of an op, and operands of its shape, fit in a partition of SBUF."""
    shape = shape_of(op.results[0])
    arrays = [v for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
    alike = [v for v in arrays if shape_of(v) == shape]
    return all(fits(machine, shape, dtype(v), partition) for v in alike)
