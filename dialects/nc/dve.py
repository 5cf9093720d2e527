"""Define the instructions of the vector engine (DVE); POOL also runs some of them."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class TensorTensorOp(InstructionOp):
    """Apply a binary operator to two tensors."""

    name = "nc.tensor_tensor"


@irdl_op_definition
class TensorScalarOp(InstructionOp):
    """Apply two operators in turn, each with a scalar or a per-partition operand."""

    name = "nc.tensor_scalar"


@irdl_op_definition
class ScalarTensorTensorOp(InstructionOp):
    """Apply an operator with a scalar, then an operator with a second tensor."""

    name = "nc.scalar_tensor_tensor"


@irdl_op_definition
class TensorReduceOp(InstructionOp):
    """Reduce the last free dimensions of a tensor."""

    name = "nc.tensor_reduce"


@irdl_op_definition
class TensorTensorScanOp(InstructionOp):
    """Compute a recurrence along the free elements of each partition."""

    name = "nc.tensor_tensor_scan"


@irdl_op_definition
class TensorCopyOp(InstructionOp):
    """Copy a tensor, with optional conversion."""

    name = "nc.tensor_copy"


@irdl_op_definition
class CopyPredicatedOp(InstructionOp):
    """Copy the elements where a predicate is nonzero; other elements keep their values."""

    name = "nc.copy_predicated"


@irdl_op_definition
class MemsetOp(InstructionOp):
    """Fill a tensor with an immediate value."""

    name = "nc.memset"


@irdl_op_definition
class ReciprocalOp(InstructionOp):
    """Compute 1 / src elementwise."""

    name = "nc.reciprocal"


@irdl_op_definition
class BnStatsOp(InstructionOp):
    """Compute count, mean and variance * count of the even and the odd elements."""

    name = "nc.bn_stats"


@irdl_op_definition
class BnAggrOp(InstructionOp):
    """Combine the statistics of bn_stats into mean and variance."""

    name = "nc.bn_aggr"


@irdl_op_definition
class TransposeDveOp(InstructionOp):
    """Transpose each block of 32 partitions by 32 elements."""

    name = "nc.transpose_dve"


@irdl_op_definition
class Max8Op(InstructionOp):
    """Find the 8 largest values of each partition, in descending order."""

    name = "nc.max8"


@irdl_op_definition
class FindIndex8Op(InstructionOp):
    """Find the index of each of 8 values in each partition; the index is -1 if there is none.

    If a value is given several times, its k-th copy finds its k-th occurrence. NaN is never found.
    """

    name = "nc.find_index8"


@irdl_op_definition
class MatchReplace8Op(InstructionOp):
    """Replace one occurrence of each of 8 values in each partition.

    If a value is given several times, its k-th copy replaces its k-th occurrence.
    """

    name = "nc.match_replace8"


@irdl_op_definition
class RngOp(InstructionOp):
    """Fill a tensor with random bits."""

    name = "nc.rng"
