"""The checks of an nc module wherever passes hand it on: limits of the machine, and its order."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.nc.listing import functions, machine_of
from neuronir.passes.nc.provenance import mark, unmark
from neuronir.passes.nc.split_transfers import PIECE
from neuronir.passes.nc.verify_machine import MachineCheck
from neuronir.passes.nc.verify_order import Snapshot, check_order, take_snapshot, unchanged

_ORDERING = frozenset(
    (
        "nc-order",
        "nc-spill",
        "nc-assign-banks",
        "nc-allocate",
        "nc-split-transfers",
        "nc-order-triggers",
        "nc-synchronise",
    )
)
"""Passes that move, rename and place; all others may change what a program does."""


class Borders:
    """The borders of one module: what nc-verify-machine and nc-verify-order check, with what both
    read of the module read once."""

    def __init__(self) -> None:
        self.machine: MachineCheck | None = None
        self.snapshot: Snapshot | None = None
        self.checked = False

    def concern(self, module: ModuleOp) -> bool:
        """Whether there is anything to check in a module: it has functions of nc."""
        return bool(functions(module))

    def before(self, module: ModuleOp, instance: ModulePass) -> None:
        """Before a pass runs: remember what the module does, or forget it where the pass may change
        that."""
        self.checked = False
        if instance.name not in _ORDERING or not functions(module):
            self.snapshot = None
            return
        piece = getattr(instance, "piece", None)
        if self.snapshot is None or piece not in (None, self.snapshot.piece):
            self.snapshot = take_snapshot(module, PIECE if piece is None else piece)
        if self.snapshot.phase == "virtual":
            mark(module)

    def end(self, passes: Sequence[ModulePass], index: int) -> bool:
        """Whether the pass of that number is the last one of those that are checked together."""
        if passes[index].name not in _ORDERING:
            return False
        return index + 1 == len(passes) or passes[index + 1].name not in _ORDERING

    def check(self, module: ModuleOp) -> None:
        """NIR_NC010 where the module asks for what its machine has not, NIR_NC011 where it does not
        compute what it did."""
        if self.checked or not functions(module):
            return
        before = self.snapshot
        machine = machine_of(module)
        if self.machine is None or self.machine.machine is not machine:
            self.machine = MachineCheck(machine, room=False)
        self.checked = True
        if before is not None and unchanged(before, module):
            self.machine.semaphores(module)
            return
        self.snapshot = None
        try:
            behind = take_snapshot(module)
            for listing in behind.listings.values():
                self.machine.function(listing)
            if before is not None:
                check_order(before, behind)
        finally:
            unmark(module)
        self.snapshot = behind
