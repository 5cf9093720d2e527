"""Define the register and barrier instructions of the sequencers."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class RegisterLoadOp(InstructionOp):
    """Load a value from memory into a register."""

    name = "nc.register_load"


@irdl_op_definition
class BarrierOp(InstructionOp):
    """Wait until all engines have reached the barrier."""

    name = "nc.barrier"
