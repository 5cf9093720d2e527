"""Follow writes whose address contains a register: each may reach any byte within some bounds.

A write with registers hides nothing that was written before, unless it has the same registers: the
distance of two such accesses is known, although their addresses are not. A read therefore depends
on the plain contents of its bytes, and on each write with registers that may have reached them,
with the conflicting writes since then. Accesses that never meet may thus be exchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.flow_paint import Region, Write, solid

Registers = tuple[int, ...]
"""The values of registers with their coefficients in an address, sorted."""
EVERYTHING = solid(0, 1 << 40, 0, 1 << 60)


@dataclass(frozen=True, slots=True)
class Reach:
    """The bytes of an access: `region` has all that it may touch.

    With registers, `near` is its region relative to their values.
    """

    region: Region
    registers: Registers | None = None
    near: Region | None = None

    def meets(self, other: "Reach") -> bool:
        """Return whether two accesses may share a byte."""
        if self.near is not None and other.near is not None and self.registers == other.registers:
            return self.near.meets(other.near)
        return self.region.meets(other.region)

    def covers(self, other: "Reach") -> bool:
        """Return whether the access covers `other` for all values of the registers."""
        if self.near is None:
            return self.region.covers(other.region)
        if other.near is None or self.registers != other.registers:
            return False
        return self.near.covers(other.near)

    def moved(self, partitions: int, size: int) -> "Reach":
        """Return the access shifted by some partitions and bytes."""
        near = None if self.near is None else self.near.moved(partitions, size)
        return Reach(self.region.moved(partitions, size), self.registers, near)


@dataclass(slots=True)
class Reaching:
    """The writes with registers that are visible in a memory, and all writes since the first."""

    visible: list[tuple[Reach, Write]] = field(default_factory=list)
    since: list[tuple[Reach, Write]] = field(default_factory=list)

    def write(self, reach: Reach, write: Write) -> None:
        """Record a write, with registers or without."""
        self.visible = [(r, w) for r, w in self.visible if not reach.covers(r)]
        if reach.near is not None:
            self.visible.append((reach, write))
        first = min((w.time for _, w in self.visible), default=write.time)
        self.since = [(r, w) for r, w in self.since if w.time > first]
        if self.visible:
            self.since.append((reach, write))

    def read(self, reach: Reach) -> list[int]:
        """Return what a read sees of these writes, relative to its own address."""
        found = sorted(
            [
                *_seen(reach, there, write),
                *(
                    n
                    for later in sorted(
                        _seen(reach, other, w)
                        for other, w in self.since
                        if w.time > write.time and other.meets(there) and other.meets(reach)
                    )
                    for n in later
                ),
            ]
            for there, write in self.visible
            if there.meets(reach)
        )
        return [n for one in found for n in (len(one), *one)]

    def shifted(self, away: Region, partitions: int, size: int) -> "Reaching | None":
        """Return the writes that may reach `away`, shifted by some partitions and bytes; None if
        one may reach other bytes, too.
        """
        out = Reaching()
        for mine, theirs in ((self.visible, out.visible), (self.since, out.since)):
            for reach, write in mine:
                if not reach.region.meets(away):
                    continue
                if not away.covers(reach.region):
                    return None
                byte = None if write.byte is None else write.byte + size
                moved = replace(write, partition=write.partition + partitions, byte=byte)
                theirs.append((reach.moved(partitions, size), moved))
        return out


def _seen(reader: Reach, there: Reach, write: Write) -> list[int]:
    """Return a write as its reader sees it: its value, and the distance of their addresses."""
    same = reader.near is not None and reader.registers == there.registers
    one, other = (reader.near, there.near) if same else (reader.region, there.region)
    assert one is not None and other is not None
    own = there.near or there.region
    byte = 0 if write.byte is None else own.address - write.byte
    return [int(same), write.value, one.start - other.start, one.address - other.address, byte]


@dataclass(slots=True)
class Reachings:
    """The writes with registers of all memories."""

    of: dict[FlowMemory, Reaching] = field(default_factory=dict)

    def write(self, memory: FlowMemory, reach: Reach, write: Write) -> None:
        """Record a write to a memory. Those without registers only matter behind others."""
        reaching = self.of.get(memory)
        if reaching is None:
            if reach.near is None:
                return
            reaching = self.of[memory] = Reaching()
        reaching.write(reach, write)
        if not reaching.visible:
            del self.of[memory]

    def read(self, memory: FlowMemory, reach: Reach) -> Sequence[int]:
        """Return what a read of a memory sees of the writes with registers."""
        reaching = self.of.get(memory)
        return () if reaching is None else reaching.read(reach)

    def all(self, memory: FlowMemory) -> Iterator[tuple[int, ...]]:
        """Yield what is visible in a memory."""
        found = self.read(memory, Reach(EVERYTHING))
        if found:
            yield tuple(found)
