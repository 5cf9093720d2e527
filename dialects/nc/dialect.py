"""Register the nc dialect: NeuronCore programs in all phases from virtual to synchronised."""

from xdsl.ir import Dialect

from neuronir.dialects.nc.act import ActivationOp
from neuronir.dialects.nc.attributes import PatternAttr, SpaceAttr, UpdateAttr, WaitAttr
from neuronir.dialects.nc.dma import DmaGatherOp, DmaOp, DmaScatterOp
from neuronir.dialects.nc.dve import (
    BnAggrOp,
    BnStatsOp,
    CopyPredicatedOp,
    FindIndex8Op,
    MatchReplace8Op,
    Max8Op,
    MemsetOp,
    ReciprocalOp,
    RngOp,
    ScalarTensorTensorOp,
    TensorCopyOp,
    TensorReduceOp,
    TensorScalarOp,
    TensorTensorOp,
    TensorTensorScanOp,
    TransposeDveOp,
)
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.pe import MatmulOp, TransposeOp
from neuronir.dialects.nc.pool import AffineSelectOp, IotaOp, NGatherOp, PartitionAllReduceOp
from neuronir.dialects.nc.structure import (
    AddressOfOp,
    AllocOp,
    CallOp,
    FuncOp,
    ReturnOp,
    VariableOp,
)
from neuronir.dialects.nc.sync import BarrierOp, RegisterLoadOp

INSTRUCTION_OPS: dict[str, type[InstructionOp]] = {
    op.name.removeprefix("nc."): op
    for op in (
        MatmulOp,
        TransposeOp,
        ActivationOp,
        TensorTensorOp,
        TensorScalarOp,
        ScalarTensorTensorOp,
        TensorReduceOp,
        TensorTensorScanOp,
        TensorCopyOp,
        CopyPredicatedOp,
        MemsetOp,
        ReciprocalOp,
        BnStatsOp,
        BnAggrOp,
        TransposeDveOp,
        Max8Op,
        FindIndex8Op,
        MatchReplace8Op,
        RngOp,
        IotaOp,
        AffineSelectOp,
        PartitionAllReduceOp,
        NGatherOp,
        DmaOp,
        DmaGatherOp,
        DmaScatterOp,
        RegisterLoadOp,
        BarrierOp,
    )
}

NC = Dialect(
    "nc",
    [*INSTRUCTION_OPS.values(), AddressOfOp, AllocOp, CallOp, FuncOp, ReturnOp, VariableOp],
    [SpaceAttr, PatternAttr, WaitAttr, UpdateAttr],
)
