"""Define collectives, communication with the host, and asynchronous pairs of start and done.

`replica_groups` is an array of index lists, one for each group. `source_target_pairs` is an array
of [source, target].
"""

import abc
from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, Pure

from neuronir.dialects.hlo.attributes import I64Array
from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.kinds import TENSOR, TOKEN, TUPLE

EMPTY: ArrayAttr[I64Array] = ArrayAttr(())


def device_count(op: Operation) -> int:
    """Return the number of devices that the module of `op` is for (1 if it does not say)."""
    module: Operation | None = op
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    names = ("hlo.num_partitions", "hlo.replica_count")
    found = [] if module is None else [module.attributes.get(name) for name in names]
    return prod(int(count.data) for count in found if isinstance(count, StringAttr))


class CollectiveOp(HloOp, abc.ABC):
    """An exchange within each group of replicas; an empty list means one group of all replicas."""

    args = var_operand_def(TENSOR)
    replica_groups = prop_def(ArrayAttr[I64Array], EMPTY)
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    use_global_device_ids = opt_prop_def(BoolAttr)
    constrain_layout = opt_prop_def(BoolAttr)
    result = result_def()


@irdl_op_definition
class AllReduceOp(CollectiveOp):
    """Reduce the operands of all replicas of a group with the region; each replica gets the
    result.
    """

    name = "hlo.all_reduce"

    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class AllReduceStartOp(CollectiveOp):
    """Start an all_reduce."""

    name = "hlo.all_reduce_start"

    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """Reduce like all_reduce, and give each replica its block along the dimension."""

    name = "hlo.reduce_scatter"

    dimension = prop_def(IntegerAttr[IntegerType])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """Concatenate the operands of all replicas of a group along the dimension."""

    name = "hlo.all_gather"

    dimension = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class AllGatherStartOp(CollectiveOp):
    """Start an all_gather."""

    name = "hlo.all_gather_start"

    dimension = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """Send block j of each replica to replica j; without a dimension, each operand is a block."""

    name = "hlo.all_to_all"

    dimension = opt_prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class CollectiveBroadcastOp(CollectiveOp):
    """Send the operand of the first replica of each group to the other replicas."""

    name = "hlo.collective_broadcast"


class PermuteOp(HloOp, abc.ABC):
    """Send operands between pairs of replicas; a replica without a source gets zeros."""

    args = var_operand_def()
    source_target_pairs = prop_def(ArrayAttr[I64Array])
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def()


@irdl_op_definition
class CollectivePermuteOp(PermuteOp):
    """Send the operand along the source-target pairs."""

    name = "hlo.collective_permute"


@irdl_op_definition
class CollectivePermuteStartOp(PermuteOp):
    """Start a collective_permute."""

    name = "hlo.collective_permute_start"


class IdOp(HloOp, abc.ABC):
    """An id of the running program, as u32[]."""

    result = result_def(TENSOR)
    traits = traits_def(Pure())


@irdl_op_definition
class PartitionIdOp(IdOp):
    """Return the id of this partition."""

    name = "hlo.partition_id"


@irdl_op_definition
class ReplicaIdOp(IdOp):
    """Return the id of this replica."""

    name = "hlo.replica_id"


class ChannelOp(HloOp, abc.ABC):
    """A transfer over a channel or to or from the host."""

    args = var_operand_def()
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    is_host_transfer = opt_prop_def(BoolAttr)
    result = result_def()


@irdl_op_definition
class SendOp(ChannelOp):
    """Start to send (value, token)."""

    name = "hlo.send"


@irdl_op_definition
class SendDoneOp(ChannelOp):
    """Wait for a send to complete."""

    name = "hlo.send_done"


@irdl_op_definition
class RecvOp(ChannelOp):
    """Start to receive a value."""

    name = "hlo.recv"


@irdl_op_definition
class RecvDoneOp(ChannelOp):
    """Wait for a received value."""

    name = "hlo.recv_done"


@irdl_op_definition
class InfeedOp(HloOp):
    """Read values from the host and return the tuple (values, token)."""

    name = "hlo.infeed"

    token = operand_def(TOKEN)
    infeed_config = opt_prop_def(StringAttr)
    result = result_def(TUPLE)


@irdl_op_definition
class OutfeedOp(HloOp):
    """Write a value to the host."""

    name = "hlo.outfeed"

    operand = operand_def()
    token = operand_def(TOKEN)
    outfeed_config = opt_prop_def(StringAttr)
    result = result_def(TOKEN)


class DoneOp(HloOp, abc.ABC):
    """Return the value of the matching start op."""

    args = var_operand_def()
    result = result_def()


@irdl_op_definition
class AllReduceDoneOp(DoneOp):
    """Wait for an all_reduce to complete."""

    name = "hlo.all_reduce_done"


@irdl_op_definition
class AllGatherDoneOp(DoneOp):
    """Wait for an all_gather to complete."""

    name = "hlo.all_gather_done"


@irdl_op_definition
class CollectivePermuteDoneOp(DoneOp):
    """Wait for a collective_permute to complete."""

    name = "hlo.collective_permute_done"


@irdl_op_definition
class CopyStartOp(DoneOp):
    """Start a copy and return the tuple (destination, source, context)."""

    name = "hlo.copy_start"


@irdl_op_definition
class CopyDoneOp(DoneOp):
    """Wait for a copy to complete."""

    name = "hlo.copy_done"


@irdl_op_definition
class AsyncStartOp(HloOp):
    """Start a call of a function and return the tuple (operands, result, context...)."""

    name = "hlo.async_start"

    args = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class AsyncUpdateOp(HloOp):
    """Continue an asynchronous call."""

    name = "hlo.async_update"

    args = var_operand_def()
    callee = opt_prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class AsyncDoneOp(HloOp):
    """Wait for an asynchronous call and return its value."""

    name = "hlo.async_done"

    args = var_operand_def()
    callee = opt_prop_def(SymbolRefAttr)
    result = result_def()


COLLECTIVE_OPS = (
    AllReduceOp,
    AllReduceStartOp,
    AllReduceDoneOp,
    ReduceScatterOp,
    AllGatherOp,
    AllGatherStartOp,
    AllGatherDoneOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    CollectivePermuteStartOp,
    CollectivePermuteDoneOp,
    PartitionIdOp,
    ReplicaIdOp,
    SendOp,
    SendDoneOp,
    RecvOp,
    RecvDoneOp,
    InfeedOp,
    OutfeedOp,
    CopyStartOp,
    CopyDoneOp,
    AsyncStartOp,
    AsyncUpdateOp,
    AsyncDoneOp,
)
