"""Operations between devices and with the host, and asynchronous pairs of start and done.

replica_groups is an array of index lists, one a group; source_target_pairs one of [source, target].
"""

import abc

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
)
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

EMPTY: ArrayAttr[I64Array] = ArrayAttr(())


class CollectiveOp(HloOp, abc.ABC):
    """An exchange between the replicas of each group; no group means all replicas."""

    args = var_operand_def()
    replica_groups = prop_def(ArrayAttr[I64Array], EMPTY)
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    use_global_device_ids = opt_prop_def(BoolAttr)
    constrain_layout = opt_prop_def(BoolAttr)
    result = result_def()


@irdl_op_definition
class AllReduceOp(CollectiveOp):
    """Fold the operands of all replicas of a group by the region; each gets the result."""

    name = "hlo.all_reduce"

    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class AllReduceStartOp(CollectiveOp):
    """Begin an all_reduce."""

    name = "hlo.all_reduce_start"

    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """Fold as all_reduce does; each replica gets its block along the dimension."""

    name = "hlo.reduce_scatter"

    dimension = prop_def(IntegerAttr[IntegerType])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """The operands of all replicas of a group one after the other along the dimension."""

    name = "hlo.all_gather"

    dimension = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class AllGatherStartOp(CollectiveOp):
    """Begin an all_gather."""

    name = "hlo.all_gather_start"

    dimension = prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """Replica i sends its block j to replica j; without a dimension, the blocks are operands."""

    name = "hlo.all_to_all"

    dimension = opt_prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class CollectiveBroadcastOp(CollectiveOp):
    """The first replica of each group sends its operand to the others."""

    name = "hlo.collective_broadcast"


class PermuteOp(HloOp, abc.ABC):
    """Replicas send to replicas by pairs; a replica that nobody sends to gets zeros."""

    args = var_operand_def()
    source_target_pairs = prop_def(ArrayAttr[I64Array])
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def()


@irdl_op_definition
class CollectivePermuteOp(PermuteOp):
    """Send along the pairs."""

    name = "hlo.collective_permute"


@irdl_op_definition
class CollectivePermuteStartOp(PermuteOp):
    """Begin a collective_permute."""

    name = "hlo.collective_permute_start"


class IdOp(HloOp, abc.ABC):
    """A number of the running program, as u32[]."""

    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class PartitionIdOp(IdOp):
    """The number of this partition."""

    name = "hlo.partition_id"


@irdl_op_definition
class ReplicaIdOp(IdOp):
    """The number of this replica."""

    name = "hlo.replica_id"


class ChannelOp(HloOp, abc.ABC):
    """Traffic over a channel or with the host."""

    args = var_operand_def()
    channel_id = opt_prop_def(IntegerAttr[IntegerType])
    is_host_transfer = opt_prop_def(BoolAttr)
    result = result_def()


@irdl_op_definition
class SendOp(ChannelOp):
    """Begin to send (value, token)."""

    name = "hlo.send"


@irdl_op_definition
class SendDoneOp(ChannelOp):
    """Wait for a send."""

    name = "hlo.send_done"


@irdl_op_definition
class RecvOp(ChannelOp):
    """Begin to receive."""

    name = "hlo.recv"


@irdl_op_definition
class RecvDoneOp(ChannelOp):
    """Wait for what is received."""

    name = "hlo.recv_done"


@irdl_op_definition
class InfeedOp(HloOp):
    """Take values from the host: the tuple (values, token)."""

    name = "hlo.infeed"

    token = operand_def()
    infeed_config = opt_prop_def(StringAttr)
    result = result_def()


@irdl_op_definition
class OutfeedOp(HloOp):
    """Give a value to the host."""

    name = "hlo.outfeed"

    operand = operand_def()
    token = operand_def()
    outfeed_config = opt_prop_def(StringAttr)
    result = result_def()


class DoneOp(HloOp, abc.ABC):
    """The value of what a start op began."""

    args = var_operand_def()
    result = result_def()


@irdl_op_definition
class AllReduceDoneOp(DoneOp):
    """Wait for an all_reduce."""

    name = "hlo.all_reduce_done"


@irdl_op_definition
class AllGatherDoneOp(DoneOp):
    """Wait for an all_gather."""

    name = "hlo.all_gather_done"


@irdl_op_definition
class CollectivePermuteDoneOp(DoneOp):
    """Wait for a collective_permute."""

    name = "hlo.collective_permute_done"


@irdl_op_definition
class CopyStartOp(DoneOp):
    """Begin a copy: the tuple (destination, source, context)."""

    name = "hlo.copy_start"


@irdl_op_definition
class CopyDoneOp(DoneOp):
    """Wait for a copy."""

    name = "hlo.copy_done"


@irdl_op_definition
class AsyncStartOp(HloOp):
    """Begin a call of a function: the tuple (operands, result, context...)."""

    name = "hlo.async_start"

    args = var_operand_def()
    callee = prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class AsyncUpdateOp(HloOp):
    """An asynchronous call on its way."""

    name = "hlo.async_update"

    args = var_operand_def()
    callee = opt_prop_def(SymbolRefAttr)
    result = result_def()


@irdl_op_definition
class AsyncDoneOp(HloOp):
    """The value of an asynchronous call."""

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
