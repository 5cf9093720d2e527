"""The target `slow1`: a Trn1 with a slower tensor engine, to show what a target consists of."""

from dataclasses import replace

from neuronir.targets.target import Target
from neuronir.targets.trn1 import TARGET as TRN1

TARGET = Target(
    name="slow1",
    machine=replace(TRN1.machine, name="slow1", pe_ghz=TRN1.machine.pe_ghz / 2),
    description="Trn1 with half the tensor engine's clock (an example)",
    pipelines={
        "hlo": "toy-lower-scale,@hlo-unroll,hlo-find-composites,hlo-decompose,hlo-auto-cast,hlo-dce"
    },
)
