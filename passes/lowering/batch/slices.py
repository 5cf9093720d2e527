"""Slice values along one dimension."""

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.data_movement import SliceOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.streaming.dims import tiled_type


def slice_of(value: SSAValue, dim: int, low: int, rows: int) -> Operation:
    """Return elements `low` to `low + rows` of `value` along `dim`."""
    shape = shape_of(value)
    starts = [low if d == dim else 0 for d in range(len(shape))]
    limits = [low + rows if d == dim else n for d, n in enumerate(shape)]
    properties = {
        "start_indices": i64_array(starts),
        "limit_indices": i64_array(limits),
        "strides": i64_array([1] * len(shape)),
    }
    return SliceOp.create(
        operands=[value], result_types=[tiled_type(value, dim, rows)], properties=properties
    )
