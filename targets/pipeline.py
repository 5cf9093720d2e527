"""Represent a model over several cores: a program for each, and the origin of its inputs."""

from dataclasses import dataclass, field

from neuronir.dialects.nc.instruction import Program

HOST = -1
"""The stage number of primary inputs."""


@dataclass(frozen=True)
class Feed:
    """The origin of an argument: result `index` of a stage, or argument `index` of the host."""

    stage: int
    index: int


@dataclass
class Pipeline:
    """Stages in the order of their cores.

    `interface` has the inputs, the outputs and the metadata of the whole model and no streams.
    `feeds[k]` has the origin of each argument of stage k, and `results` the origin of each output.
    `sent[k]` are the bytes that pass from stage k - 1 to stage k for one request, including those
    for later stages. Only the first stage receives inputs from the host (`sent[0]`).
    """

    interface: Program
    stages: list[Program]
    feeds: list[list[Feed]]
    results: list[Feed]
    sent: list[int] = field(default_factory=list)

    @property
    def machine(self) -> str:
        """The name of the machine of each core."""
        return self.interface.machine
