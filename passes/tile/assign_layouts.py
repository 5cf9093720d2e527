"""tile-assign-layouts: assign a layout to every on-chip value, and insert layout conversions."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.support.names import name_results
from neuronir.passes.tile.fit import check_types, programs
from neuronir.passes.tile.fuse import machine_of
from neuronir.passes.tile.layouts.assign import assign_layouts
from neuronir.passes.tile.plugins import load_rules


@dataclass(frozen=True)
class TileAssignLayoutsPass(ModulePass):
    """Assign a layout to every on-chip value, as the encoding of its type.

    Loads, stores and layout changes become `tile.convert_layout`.
    """

    name = "tile-assign-layouts"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        load_rules()
        machine = machine_of(op, self.target, self.name)
        for function in programs(op):
            check_types(function, machine)
            assign_layouts(function.body.block, machine)
            name_results(function.body.block)
