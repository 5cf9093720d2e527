"""GpSimd engine (POOL) instructions."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class IotaOp(InstructionOp):
    """`iota` of the opcode table."""

    name = "nc.iota"


@irdl_op_definition
class AffineSelectOp(InstructionOp):
    """`affine_select` of the opcode table."""

    name = "nc.affine_select"


@irdl_op_definition
class PartitionAllReduceOp(InstructionOp):
    """`partition_all_reduce` of the opcode table."""

    name = "nc.partition_all_reduce"


@irdl_op_definition
class LocalGatherOp(InstructionOp):
    """`local_gather` of the opcode table."""

    name = "nc.local_gather"
