"""Register and barrier instructions of the sequencers."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class RegisterLoadOp(InstructionOp):
    """`register_load` of the opcode table."""

    name = "nc.register_load"


@irdl_op_definition
class BarrierOp(InstructionOp):
    """`barrier` of the opcode table."""

    name = "nc.barrier"
