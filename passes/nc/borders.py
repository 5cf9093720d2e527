"""Check an nc module between passes: the limits of the machine, and the order."""

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.nc.listing import has_functions, machine_of
from neuronir.passes.nc.provenance import mark, unmark
from neuronir.passes.nc.split_transfers import PIECE
from neuronir.passes.nc.verify_machine import MachineCheck
from neuronir.passes.nc.verify_order import Snapshot, check_order, take_snapshot, unchanged

_ORDERING = frozenset(
    (
        "nc-unroll",
        "nc-verify-room",
        "nc-split-loads",
        "nc-assign-engines",
        "nc-rotate",
        "nc-prefetch",
        "nc-pipeline",
        "nc-reload-weights",
        "nc-schedule",
        "nc-spill",
        "nc-assign-banks",
        "nc-allocate",
        "nc-split-transfers",
        "nc-order-triggers",
        "nc-assign-queues",
        "nc-synchronise",
    )
)
"""Passes that only move, rename and place; other passes may change what a program does.

Consecutive ones are checked together, behind the last of them.
"""


class Borders:
    """The checks of one module between passes.

    These are the checks of nc-verify-machine and nc-verify-order; both share what they read.
    """

    def __init__(self) -> None:
        self.machine: MachineCheck | None = None
        self.snapshot: Snapshot | None = None
        self.checked = False
        self.pending = False  # whether passes after the snapshot have not been checked

    def restart(self) -> None:
        """Forget the module, before passes on another one."""
        self.snapshot, self.checked, self.pending = None, False, False

    def concern(self, module: ModuleOp) -> bool:
        """Return whether there is anything to check: the module has nc functions."""
        return has_functions(module)

    def before(self, module: ModuleOp, passes: Sequence[ModulePass], index: int) -> None:
        """Before a pass, record the data flow of the module, or discard the record if the pass may
        change it.

        The record is kept while passes are checked together.
        """
        self.checked = False
        if passes[index].name not in _ORDERING or not has_functions(module):
            self.snapshot = None
            self.pending = False
            return
        if self.pending:
            return
        together = takewhile(lambda one: one.name in _ORDERING, passes[index:])
        piece = next((p for p in map(_piece, together) if p is not None), None)
        if self.snapshot is None or piece not in (None, self.snapshot.piece):
            self.snapshot = take_snapshot(module, PIECE if piece is None else piece)
        if self.snapshot.phase == "virtual":
            mark(module)
        self.pending = True

    def end(self, passes: Sequence[ModulePass], index: int) -> bool:
        """Return whether the pass with this number is the last of those that are checked
        together.
        """
        if passes[index].name not in _ORDERING:
            return False
        if index + 1 == len(passes) or passes[index + 1].name not in _ORDERING:
            return True
        planned = None if self.snapshot is None else self.snapshot.piece
        return _piece(passes[index + 1]) not in (None, planned)

    def check(self, module: ModuleOp) -> None:
        """Check the module after a pass.

        Raises NIR_NC010 if the module exceeds the machine, NIR_NC011 if it computes something else.
        """
        if self.checked or not has_functions(module):
            return
        before, self.pending = self.snapshot, False
        machine = machine_of(module)
        if self.machine is None or self.machine.machine is not machine:
            self.machine = MachineCheck(machine, room=False)
        self.checked = True
        if before is not None and unchanged(before, module):
            self.machine.semaphores(module)
            return
        self.snapshot = None
        try:
            piece = PIECE if before is None else before.piece
            behind = take_snapshot(module, piece, marked=before is not None)
            for listing in behind.listings.values():
                self.machine.function(listing)
            if before is not None:
                check_order(before, behind)
        finally:
            unmark(module)
        if before is None or behind.phase != "virtual":  # else its marks are those of `before`
            self.snapshot = behind


def _piece(instance: ModulePass) -> int | None:
    """Return the size of the pieces into which a pass splits transfers; None if it splits none."""
    piece = getattr(instance, "piece", None)
    return piece if isinstance(piece, int) else None
