"""What this package adds to xDSL: one pass, imported when it is used."""

from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _lower() -> type[ModulePass]:
    from toy1_neuron.lower import LowerPass

    return LowerPass


TOY1_UNIVERSE = Universe(all_passes={"toy1-lower": _lower})
