"""Define targets: a machine, a legality table, pipelines and an encoding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuronir.dialects.nc.machine import Machine
from neuronir.targets.encoding.encoding import Encoding

if TYPE_CHECKING:
    from neuronir.passes.hlo.legality import Legality  # the simulator works without passes


@dataclass(frozen=True)
class Target:
    """A compile target, found by name through the entry points `neuronir.targets`.

    `pipelines` maps a phase ("hlo", "virtual", ...) or another name to a pass string that
    `neuron-opt -p` takes; phases without one have the passes that all targets share. `legality` is
    the table of what can be compiled, and `encoding` the encoding of the instructions; without
    them both follow from the machine (`legality_of`, `encoding_for`).
    """

    name: str
    machine: Machine
    description: str
    pipelines: Mapping[str, str] = field(default_factory=dict)
    legality: "Legality | None" = None
    encoding: Encoding | None = None
