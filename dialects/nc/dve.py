"""Vector engine (DVE) instructions, some of which POOL runs as well."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class TensorTensorOp(InstructionOp):
    """`tensor_tensor` of the opcode table."""

    name = "nc.tensor_tensor"


@irdl_op_definition
class TensorScalarOp(InstructionOp):
    """`tensor_scalar` of the opcode table."""

    name = "nc.tensor_scalar"


@irdl_op_definition
class ScalarTensorTensorOp(InstructionOp):
    """`scalar_tensor_tensor` of the opcode table."""

    name = "nc.scalar_tensor_tensor"


@irdl_op_definition
class TensorReduceOp(InstructionOp):
    """`tensor_reduce` of the opcode table."""

    name = "nc.tensor_reduce"


@irdl_op_definition
class TensorTensorScanOp(InstructionOp):
    """`tensor_tensor_scan` of the opcode table."""

    name = "nc.tensor_tensor_scan"


@irdl_op_definition
class TensorCopyOp(InstructionOp):
    """`tensor_copy` of the opcode table."""

    name = "nc.tensor_copy"


@irdl_op_definition
class CopyPredicatedOp(InstructionOp):
    """`copy_predicated` of the opcode table."""

    name = "nc.copy_predicated"


@irdl_op_definition
class MemsetOp(InstructionOp):
    """`memset` of the opcode table."""

    name = "nc.memset"


@irdl_op_definition
class ReciprocalOp(InstructionOp):
    """`reciprocal` of the opcode table."""

    name = "nc.reciprocal"


@irdl_op_definition
class BnStatsOp(InstructionOp):
    """`bn_stats` of the opcode table."""

    name = "nc.bn_stats"


@irdl_op_definition
class BnAggrOp(InstructionOp):
    """`bn_aggr` of the opcode table."""

    name = "nc.bn_aggr"


@irdl_op_definition
class TransposeDveOp(InstructionOp):
    """`transpose_dve` of the opcode table."""

    name = "nc.transpose_dve"


@irdl_op_definition
class Max8Op(InstructionOp):
    """`max8` of the opcode table."""

    name = "nc.max8"


@irdl_op_definition
class FindIndex8Op(InstructionOp):
    """`find_index8` of the opcode table."""

    name = "nc.find_index8"


@irdl_op_definition
class MatchReplace8Op(InstructionOp):
    """`match_replace8` of the opcode table."""

    name = "nc.match_replace8"


@irdl_op_definition
class RngOp(InstructionOp):
    """`rng` of the opcode table."""

    name = "nc.rng"
