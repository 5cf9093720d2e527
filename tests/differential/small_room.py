"""Little room in SBUF for tile-fuse: small programs get loops over tiles, as large ones do."""

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.tile import fuse
from neuronir.passes.tile.room import Room


@contextmanager
def small_room(share: float) -> Iterator[None]:
    """Let tile-fuse use `share` of SBUF in this block (0: the usual one)."""
    usual = fuse.fuse_block

    def small(block: Block, machine: Machine, room: Room) -> None:
        usual(block, machine, Room(int(machine.sbuf_usable_partition_bytes * share)))

    if share:
        fuse.fuse_block = small
    try:
        yield
    finally:
        fuse.fuse_block = usual
