"""Remove collectives in which a device exchanges nothing: those in groups of one."""

from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.collective import CollectiveOp, PermuteOp
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import Rule

_COUNTS = ("hlo.num_partitions", "hlo.replica_count")


def alone(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a collective whose groups have one member each by its operands."""
    assert isinstance(op, CollectiveOp)
    sizes = {len(group) for group in op.replica_groups.data}
    return _forward(op, e) if sizes == {1} else None


def to_itself(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a permutation of one device: by its operand, or by zeros if nothing is sent."""
    assert isinstance(op, PermuteOp)
    if _devices(op) != 1:
        return None
    if op.source_target_pairs.data:
        return _forward(op, e)
    return e.fill(0, op.result.type) if len(op.args) == 1 else None


def zero(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace the number of the only device by 0."""
    return e.constant(np.zeros((), np.uint32)) if _devices(op) == 1 else None


def _forward(op: Operation, e: Emitter) -> SSAValue | None:
    (result,) = op.results
    if len(op.operands) == 1:
        return op.operands[0] if op.operands[0].type == result.type else None
    packed = e.tuple(op.operands)
    return packed if packed.type == result.type else None


def _devices(op: Operation) -> int:
    """Return the number of devices for which the module is written (1 if it does not say)."""
    module: Operation | None = op
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    found = [] if module is None else [module.attributes.get(name) for name in _COUNTS]
    return prod(int(count.data) for count in found if isinstance(count, StringAttr))


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
