"""The target: everything that NeuronIR asks for, in one object."""

from neuronir.passes.hlo.legality import Legality
from neuronir.targets.target import Target
from toy1_neuron.encoding import Toy1Encoding
from toy1_neuron.machine import TOY1

LEGALITY = Legality(
    "toy1",
    opcodes=frozenset(
        "add broadcast constant convert dot maximum minimum multiply return subtract".split()
    ),
    element_types=frozenset({"bf16", "f32"}),
    addresses=False,  # of transfers, computed at run time
    loops=False,
    integers=False,
    scans=False,
)

TARGET = Target(
    name="toy1",
    machine=TOY1,
    description="an example: a matmul engine, a vector engine, 1 MiB of scratchpad",
    pipelines={"virtual": "toy1-lower"},
    legality=LEGALITY,
    encoding=Toy1Encoding(),
)
