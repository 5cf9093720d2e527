"""Define the passes of the tiled level, between hlo and nc, each imported on first use."""

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES = {
    "tile-expand-composites": ("expand_composites", "TileExpandCompositesPass"),
    "tile-pad-axes": ("pad_axes", "TilePadAxesPass"),
    "tile-fuse": ("fuse", "TileFusePass"),
    "tile-assign-layouts": ("assign_layouts", "TileAssignLayoutsPass"),
    "lower-tile-to-nc": ("lower_tile_to_nc", "LowerTileToNcPass"),
}


def _factory(module: str, name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        found: type[ModulePass] = getattr(import_module(f"neuronir.passes.tile.{module}"), name)
        return found

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: _factory(*where) for name, where in _PASSES.items()
}
