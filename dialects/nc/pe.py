"""Define the instructions of the tensor engine (PE)."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class MatmulOp(InstructionOp):
    """Multiply the stationary operand by the moving operand, and write or accumulate in PSUM."""

    name = "nc.matmul"


@irdl_op_definition
class TransposeOp(InstructionOp):
    """Transpose a tile with the tensor engine, as a product with the identity."""

    name = "nc.transpose"
