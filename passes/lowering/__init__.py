"""Lowering from hlo to nc."""

from collections.abc import Callable

from xdsl.passes import ModulePass


def _lower_hlo_to_nc() -> type[ModulePass]:
    from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNc

    return LowerHloToNc


PASSES: dict[str, Callable[[], type[ModulePass]]] = {"lower-hlo-to-nc": _lower_hlo_to_nc}
