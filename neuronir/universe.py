"""Register NeuronIR's dialects, passes and output formats with xDSL, each loaded on first use.

After installation, any xDSL tool finds them through the entry point `xdsl.universe`.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

PassFactory = Callable[[], type[ModulePass]]

_PASS_FOLDERS = (
    "neuronir.passes.hlo",
    "neuronir.passes.tile",
    "neuronir.passes.lowering",
    "neuronir.passes.nc",
)


def _lazy(module: str, attribute: str) -> Callable[[], Any]:
    """Return a factory that imports `module` when it is called."""
    return lambda: getattr(import_module(module), attribute)


def _passes() -> dict[str, PassFactory]:
    """Merge the registries of all pass folders; a duplicate name is a bug."""
    merged: dict[str, PassFactory] = {}
    for folder in _PASS_FOLDERS:
        registry: dict[str, PassFactory] = import_module(folder).PASSES
        twice = merged.keys() & registry.keys()
        if twice:
            raise ValueError(f"{folder} registers passes that exist already: {sorted(twice)}")
        merged.update(registry)
    return merged


def _dialects() -> dict[str, Callable[[], Dialect]]:
    return {
        "hlo": _lazy("neuronir.dialects.hlo", "HLO"),
        "nc": _lazy("neuronir.dialects.nc.dialect", "NC"),
        "check": _lazy("neuronir.dialects.check", "Check"),
        "tile": _lazy("neuronir.dialects.tile.ops", "TILE"),
    }


def _formats() -> dict[str, Callable[[], type[Target]]]:
    return {"hlo": _lazy("neuronir.frontends.hlo_text.target", "HLOTextTarget")}


NEURONIR_UNIVERSE = Universe(all_dialects=_dialects(), all_passes=_passes(), all_targets=_formats())
