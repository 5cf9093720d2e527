"""The Inf1 target."""

from neuronir.targets.inf1.machine import INF1
from neuronir.targets.target import EncoderOptions, Target

TARGET = Target(
    name="inf1",
    machine=INF1,
    description="NeuronCore-v1 of Inferentia (Inf1), one core; most of its geometry is assumed",
    pipelines={},
    encoder=EncoderOptions(unroll_loops=True),
)
