"""nc-split-loads: split loads of values that the program itself wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.structure import AddressOfOp, VariableOp
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, require_phase, variables
from neuronir.passes.nc.split_transfers import PIECE, split_transfers
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcSplitLoadsPass(ModulePass):
    """Split loads of values that the program itself wrote to HBM, outside loops.

    Instructions that use the first rows of such a value can then be scheduled before its last rows
    are written. Loads of inputs and constants are split later (nc-split-transfers), because
    nc-spill rematerialises only whole loads; their data is there from the beginning.
    """

    name = "nc-split-loads"
    piece: int = field(
        default=PIECE,
        metadata={"help": "smallest size of a piece in bytes; 0: no load is split"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the loads of every function."""
        require_phase(op, self.name, "virtual")
        chosen = partial(loads_own, variables(op))
        with bodies_in_place(op):
            for func in functions(op):
                cut, pieces = split_transfers(func.body.block, self.piece, chosen)
                record(self.name, "loads in pieces", cut)
                record(self.name, "pieces of loads", pieces)


def loads_own(kinds: Mapping[str, VariableOp], target: View, source: View) -> bool:
    """Return whether the loaded data was stored to HBM by the program itself."""
    variable = source.buffer.owner
    if not isinstance(variable, AddressOfOp):
        return False
    return kinds[variable.variable.root_reference.data].kind.data == "scratch"
