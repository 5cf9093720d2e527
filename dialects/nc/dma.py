"""Define DMA transfers."""

from xdsl.irdl import irdl_op_definition

from neuronir.dialects.nc.ops import InstructionOp


@irdl_op_definition
class DmaOp(InstructionOp):
    """Copy data between memories, with optional conversion or accumulation."""

    name = "nc.dma"


@irdl_op_definition
class DmaGatherOp(InstructionOp):
    """Gather rows of a table in HBM by index."""

    name = "nc.dma_gather"


@irdl_op_definition
class DmaScatterOp(InstructionOp):
    """Scatter rows to a table in HBM by index."""

    name = "nc.dma_scatter"
