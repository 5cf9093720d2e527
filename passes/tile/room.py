"""Compute the SBUF room on which the choice of groups depends: with less room, other groups would
be chosen.
"""

from math import ceil

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from neuronir.dialects.nc.machine import Machine

NEEDED = "tile.room"
"""The attribute of a module whose groups are the same in any room from this one on, in bytes."""


def room_bytes(machine: Machine, percent: int) -> int:
    """Return a share of a partition of SBUF in bytes."""
    return int(machine.sbuf_usable_partition_bytes * (percent / 100))


class Room:
    """The bytes per partition that are available for the values of a group, and the bytes that were
    needed.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.needed = 0

    def fits(self, size: float, beside: float = 0, share: float = 1.0) -> bool:
        """Return whether values fit into a share of the room, next to other values (`beside`).

        If they fit, their bytes are recorded as needed, because a smaller room would change the
        answer.
        """
        if size > share * self.size - beside:
            return False
        self.needed = max(self.needed, ceil((size + beside) / share))
        return True

    def mark(self, module: ModuleOp) -> None:
        """Record the needed bytes in the module."""
        module.attributes[NEEDED] = IntegerAttr(self.needed, i64)


def same_groups(module: ModuleOp, machine: Machine, percent: int) -> bool:
    """Return whether tile-fuse with a smaller room would find the same groups."""
    found = module.attributes.get(NEEDED)
    return isinstance(found, IntegerAttr) and found.value.data <= room_bytes(machine, percent)
