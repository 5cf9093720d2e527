"""Bind the collectives in which a device exchanges nothing: those in groups of one."""

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.collective import CollectiveOp, PermuteOp, device_count
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.hlo.semantics.registry import Bound, binder, unsupported


def _forwarded(*values: Value) -> Value:
    return values[0] if len(values) == 1 else values


def _exchanges(op: Operation) -> bool:
    """Return whether a device may send or get anything."""
    if isinstance(op, CollectiveOp):
        return {len(group) for group in op.replica_groups.data} != {1}
    return device_count(op) != 1


@binder(
    "hlo.all_gather",
    "hlo.all_reduce",
    "hlo.all_to_all",
    "hlo.collective_broadcast",
    "hlo.collective_permute",
    "hlo.reduce_scatter",
)
def _collective(op: Operation) -> Bound:
    if _exchanges(op):
        raise unsupported(op, f"'{op.name}' has no reference semantics on one device")
    if isinstance(op, PermuteOp) and not op.source_target_pairs.data:  # nothing is sent
        return lambda *values: _forwarded(*(np.zeros_like(value) for value in values))
    return _forwarded


@binder("hlo.partition_id", "hlo.replica_id")
def _number(op: Operation) -> Bound:
    if _exchanges(op):
        raise unsupported(op, f"'{op.name}' has no reference semantics on one device")
    return lambda: np.zeros((), np.uint32)
