"""Count the PSUM banks that are live at each instruction of a block, in program order."""

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.records import partition_bytes


class LiveBanks:
    """The live banks of a block of `places` instructions."""

    def __init__(self, machine: Machine, places: int) -> None:
        self.machine = machine
        self.live = [0] * (places + 1)

    def of(self, buffer: SSAValue) -> int:
        """Return the banks that a buffer takes, in PSUM or if it were there."""
        assert isinstance(buffer.type, MemRefType)
        return -(-partition_bytes(buffer.type) // self.machine.psum_bank_bytes)

    def hold(self, buffer: SSAValue, first: int, last: int) -> None:
        """Count a buffer as live from an instruction to another, both included."""
        banks = self.of(buffer)
        for place in range(first, last + 1):
            self.live[place] += banks

    def with_buffer(self, buffer: SSAValue, first: int, last: int) -> int:
        """Return the most live banks from an instruction to another, a further buffer included."""
        return max(self.live[first : last + 1], default=0) + self.of(buffer)
