"""Recognise tiled programs that were compiled before, with another size of tiles."""

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.contents import contents_of
from neuronir.passes.tile.room import NEEDED


class SameTiles(Exception):
    """An attempt has the tiled program of an earlier one."""


class TiledPrograms:
    """The tiled programs of the attempts of a compile."""

    def __init__(self) -> None:
        self.seen: list[list[Hashable]] = []

    def add(self, module: ModuleOp) -> None:
        """Add a program; raise SameTiles if it equals an earlier one."""
        contents = contents_of(module, {NEEDED})
        if contents in self.seen:
            raise SameTiles
        self.seen.append(contents)
