"""Define the instructions of the GpSimd engine (POOL)."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class IotaOp(InstructionOp):
    """Generate an affine function of partition and element."""

    name = "nc.iota"


@irdl_op_definition
class AffineSelectOp(InstructionOp):
    """Keep elements where an affine function of the position satisfies a comparison; fill the
    others.
    """

    name = "nc.affine_select"


@irdl_op_definition
class PartitionAllReduceOp(InstructionOp):
    """Reduce over partitions and write the result to every partition."""

    name = "nc.partition_all_reduce"


@irdl_op_definition
class NGatherOp(InstructionOp):
    """Gather elements within each partition by the indices of that partition."""

    name = "nc.n_gather"
