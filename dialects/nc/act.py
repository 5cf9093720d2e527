"""Define the instructions of the scalar engine (ACT)."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class ActivationOp(InstructionOp):
    """Apply a function to `scale * src + bias`, and optionally sum the results."""

    name = "nc.activation"
