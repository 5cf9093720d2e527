"""Tensor engine (PE) instructions."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class MatmulOp(InstructionOp):
    """`matmul` of the opcode table."""

    name = "nc.matmul"


@irdl_op_definition
class TransposeOp(InstructionOp):
    """`transpose` of the opcode table."""

    name = "nc.transpose"
