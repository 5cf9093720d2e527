"""Pad the indices of gathers of single elements, so that they divide over partitions."""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, shape
from neuronir.passes.hlo.support.walk import Rule

_FEWEST = 512
"""Fewer elements take no longer one by one."""
_LARGEST = 1 << 14
"""Larger tables are not picked from in SBUF."""


def gather(op: Operation, e: Emitter) -> SSAValue | None:
    """Gather up to 127 elements more from a vector if no large divisor of their number fits on
    partitions; None if one does.
    """
    table, indices = op.operands
    dims, count = shape(table), prod(shape(indices))
    single = prod(ints(op, "slice_sizes")) == 1 and not ints(op, "operand_batching_dims")
    mapped = ints(op, "start_index_map")
    if not single or len(mapped) != 1 or dims[mapped[0]] != prod(dims):
        return None
    if count < _FEWEST or prod(dims) > _LARGEST:
        return None
    if any(count % n == 0 for n in range(PARTITIONS // 2, PARTITIONS + 1)):
        return None
    more = -count % PARTITIONS
    flat = e.reshape(indices, (count,))
    flat = e.pad(flat, e.scalar(0, element(flat)), (0,), (more,))
    found = e.op(
        "gather",
        [e.reshape(table, (prod(dims),)), e.reshape(flat, (count + more, 1))],
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return e.reshape(e.slice(found, (0,), (count,)), shape(op.results[0]))


RULES: dict[str, Rule] = {"gather": gather}
