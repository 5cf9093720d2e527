"""tile-assign-layouts: every value on the chip gets a layout, and changes of layout are written."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.hlo.support.walk import functions
from neuronir.passes.tile.fit import check_types
from neuronir.passes.tile.fuse import machine_of
from neuronir.passes.tile.layouts.assign import assign_layouts


@dataclass(frozen=True)
class TileAssignLayouts(ModulePass):
    """Choose the layout of every value that lies on the chip, as the encoding of its type.

    Loads, stores and changes of layout become `tile.convert_layout`. `target`: the machine, or else
    `nc.machine` says.
    """

    name = "tile-assign-layouts"
    target: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op, self.target, self.name)
        for function in functions(op):
            check_types(function, machine)
            assign_layouts(function.body.block, machine)
