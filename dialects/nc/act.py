"""Scalar engine (ACT) instructions."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class ActivationOp(InstructionOp):
    """`activation` of the opcode table."""

    name = "nc.activation"
