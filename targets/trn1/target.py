"""The Trn1 target."""

from neuronir.targets.target import Target
from neuronir.targets.trn1.machine import TRN1

TARGET = Target(
    name="trn1",
    machine=TRN1,
    description="NeuronCore-v2 of Trainium1 (Trn1) and Inferentia2 (Inf2), one core",
)
