"""What the entry point `xdsl.universe` names: factories, so that nothing loads before its use."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _toy() -> Dialect:
    from outoftree_neuron.dialect import Toy

    return Toy


def _lower_scale() -> type[ModulePass]:
    from outoftree_neuron.lower_scale import LowerScalePass

    return LowerScalePass


OUTOFTREE_UNIVERSE = Universe(
    all_dialects={"toy": _toy}, all_passes={"toy-lower-scale": _lower_scale}
)
