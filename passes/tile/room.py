"""Count the room of SBUF that the groups of a program need: in less room they would be others."""

from math import ceil

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from neuronir.dialects.nc.machine import Machine

NEEDED = "tile.room"
"""The attribute of a module whose groups are the same in any room from this one on, in bytes."""


def room_bytes(machine: Machine, percent: int) -> int:
    """Return a share of a partition of SBUF in bytes."""
    return int(machine.sbuf_usable_partition_bytes * (percent / 100))


class Room:
    """The bytes per partition for the values of a group, and how many have been needed."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.needed = 0

    def fits(self, size: float, beside: float = 0, share: float = 1.0) -> bool:
        """Return whether values fit into a share of the room, `beside` others.

        If they do, they are needed: in a room without space for them, the answer differs.
        """
        if size > share * self.size - beside:
            return False
        self.needed = max(self.needed, ceil((size + beside) / share))
        return True

    def mark(self, module: ModuleOp) -> None:
        """Write down what has been needed."""
        module.attributes[NEEDED] = IntegerAttr(self.needed, i64)


def same_groups(module: ModuleOp, machine: Machine, percent: int) -> bool:
    """Return whether tile-fuse with a smaller room finds the groups that it has found."""
    found = module.attributes.get(NEEDED)
    return isinstance(found, IntegerAttr) and found.value.data <= room_bytes(machine, percent)
