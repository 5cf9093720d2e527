"""Remove collectives in which a device exchanges nothing: those in groups of one."""

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.collective import CollectiveOp, PermuteOp, device_count
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import Rule


def alone(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a collective whose groups have one member each by its operands."""
    assert isinstance(op, CollectiveOp)
    sizes = {len(group) for group in op.replica_groups.data}
    return _forward(op, e) if sizes == {1} else None


def to_itself(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a permutation of one device: by its operand, or by zeros if nothing is sent."""
    assert isinstance(op, PermuteOp)
    if device_count(op) != 1:
        return None
    if op.source_target_pairs.data:
        return _forward(op, e)
    return e.fill(0, op.result.type) if len(op.args) == 1 else None


def zero(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace the number of the only device by 0."""
    return e.constant(np.zeros((), np.uint32)) if device_count(op) == 1 else None


def _forward(op: Operation, e: Emitter) -> SSAValue | None:
    (result,) = op.results
    if len(op.operands) == 1:
        return op.operands[0] if op.operands[0].type == result.type else None
    packed = e.tuple(op.operands)
    return packed if packed.type == result.type else None


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.all_reduce": (alone,),
    "hlo.reduce_scatter": (alone,),
    "hlo.all_gather": (alone,),
    "hlo.all_to_all": (alone,),
    "hlo.collective_broadcast": (alone,),
    "hlo.collective_permute": (to_itself,),
    "hlo.partition_id": (zero,),
    "hlo.replica_id": (zero,),
}
