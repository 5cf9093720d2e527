"""Check an nc module between passes: the limits of the machine, and the order."""

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
"""Passes that only move, rename and place; other passes may change what a program does."""


class Borders:
    """The checks of one module between passes.

    These are the checks of nc-verify-machine and nc-verify-order; both share what they read.
    """

    def __init__(self) -> None:
        self.machine: MachineCheck | None = None
        self.snapshot: Snapshot | None = None
        self.checked = False

    def concern(self, module: ModuleOp) -> bool:
        """Return whether there is anything to check: the module has nc functions."""
        return bool(functions(module))

    def before(self, module: ModuleOp, instance: ModulePass) -> None:
        """Before a pass, record the data flow of the module, or discard the record if the pass may
        change it.
        """
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
        """Return whether the pass with this number is the last of those that are checked
        together.
        """
        if passes[index].name not in _ORDERING:
            return False
        return index + 1 == len(passes) or passes[index + 1].name not in _ORDERING

    def check(self, module: ModuleOp) -> None:
        """Check the module after a pass.

        Raises NIR_NC010 if the module exceeds the machine, NIR_NC011 if it computes something else.
        """
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
