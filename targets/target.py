"""What a target is: a machine, its pipelines and what its encoder needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuronir.dialects.nc.machine import Machine


@dataclass(frozen=True)
class EncoderOptions:
    """How programs of a target are encoded.

    `unroll_loops`: loops and calls are written out, for machines without control flow.
    `encoding` names the instruction encoding, and `version` its version.
    """

    encoding: str = "neuronir"
    version: int = 1
    unroll_loops: bool = False


@dataclass(frozen=True)
class Target:
    """A compile target, found by name through the entry points `neuronir.targets`.

    `pipelines` maps a name ("default", ...) to a pass string that `neuron-opt -p` takes.
    """

    name: str
    machine: Machine
    description: str
    pipelines: Mapping[str, str] = field(default_factory=dict)
    encoder: EncoderOptions = EncoderOptions()
