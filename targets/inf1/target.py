"""The Inf1 target.

NeuronCore-v1's sequencers run straight-line streams (assumed: no public source shows loops or
registers). Its encoding therefore has no control flow: loops and calls are unrolled, and addresses
in registers are rejected. This follows from the machine description.
"""

from neuronir.targets.inf1.machine import INF1
from neuronir.targets.target import Target

TARGET = Target(
    name="inf1",
    machine=INF1,
    description="NeuronCore-v1 of Inferentia (Inf1), one core; most of its geometry is assumed",
)
