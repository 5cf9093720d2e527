"""DMA transfers."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class DmaOp(InstructionOp):
    """`dma` of the opcode table."""

    name = "nc.dma"


@irdl_op_definition
class DmaGatherOp(InstructionOp):
    """`dma_gather` of the opcode table."""

    name = "nc.dma_gather"


@irdl_op_definition
class DmaScatterOp(InstructionOp):
    """`dma_scatter` of the opcode table."""

    name = "nc.dma_scatter"
