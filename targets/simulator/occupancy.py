"""Compute how full SBUF and PSUM are over time, from a recorded run.

Memory is examined in pieces of a partition. A piece is in use from a write until the last access
before the next write that starts a new value.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import hull
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.timing_code import Op
from neuronir.targets.simulator.timing_state import Recording

_PIECE = {Space.SBUF: 512, Space.PSUM: 256}


@dataclass(frozen=True, slots=True)
class Resident:
    """A value in SBUF or PSUM: bytes `low` to `high` of its partitions, and its life in ns.

    It lives from `begin` (its first write) to `end` (its last access). `source` is the source of
    the instruction that wrote it first, and `partitions` the number of partitions of that write.
    """

    begin: float
    end: float
    low: int
    high: int
    source: int
    partitions: int


class _Memory:
    def __init__(self, size: int, piece: int) -> None:
        self.piece = piece
        pieces = -(-size // piece)
        self.written: NDArray[np.float64] = np.full(pieces, -1.0)
        self.used: NDArray[np.float64] = np.full(pieces, -1.0)
        self.writer: NDArray[np.int64] = np.full(pieces, -1)
        self.lives: list[tuple[float, float, int, int]] = []  # begin, end, writer, piece

    def touch(self, ap: AccessPattern, time: float, writer: int) -> None:
        """Record an access; `writer` is the number of the writing op, -1 for a read."""
        low, high = hull(ap, ap.address.const)
        at = slice(max(0, low // self.piece), -(-high // self.piece))
        if writer >= 0:
            written, used = self.written[at], self.used[at]
            fresh = used > written  # read since it was written: this starts a new value
            self._close(np.flatnonzero(fresh) + at.start)
            begin = fresh | (written < 0)
            written[begin] = time
            self.writer[at][begin] = writer
            self.used[at] = np.maximum(used, np.where(begin, time, used))
        else:
            self.used[at] = np.maximum(self.used[at], time)

    def _close(self, pieces: NDArray[np.int64]) -> None:
        self.lives += zip(
            self.written[pieces].tolist(),
            self.used[pieces].tolist(),
            self.writer[pieces].tolist(),
            pieces.tolist(),
            strict=True,
        )

    def finish(self) -> None:
        """Close everything still in use."""
        self._close(np.flatnonzero(self.written >= 0))

    def points(self) -> list[tuple[float, int]]:
        """Return (time, bytes of a partition in use) at each change."""
        changes = [(begin, 1) for begin, *_ in self.lives]
        changes += [(end, -1) for _, end, *_ in self.lives]
        changes.sort()
        level = 0
        points: list[tuple[float, int]] = []
        for time, change in changes:
            level += change
            if points and points[-1][0] == time:
                points.pop()
            points.append((time, level * self.piece))
        return points

    def residents(self, ops: list[Op]) -> list[Resident]:
        """Return the lives of adjacent pieces that one op wrote, joined if their times are
        equal.
        """
        found: list[Resident] = []
        before: tuple[float, float, int] | None = None
        for begin, end, writer, piece in sorted(self.lives):
            low, high = piece * self.piece, (piece + 1) * self.piece
            if before == (begin, end, writer) and found[-1].high == low:
                found[-1] = replace(found[-1], high=high)
                continue
            before = (begin, end, writer)
            i = ops[writer].instruction
            rows = max((ap.partitions for ap in i.dst if ap is not None), default=0)
            found.append(Resident(begin, end, low, high, i.source, rows))
        return found


class Occupancy:
    """The contents of SBUF and PSUM over a recorded run; loops use the addresses of the first
    iteration.
    """

    def __init__(self, recording: Recording, ops: list[Op], machine: Machine) -> None:
        self._ops = ops
        self._memories = {
            Space.SBUF: _Memory(machine.sbuf_partition_bytes, _PIECE[Space.SBUF]),
            Space.PSUM: _Memory(machine.psum_partition_bytes, _PIECE[Space.PSUM]),
        }
        events: list[tuple[float, int, int]] = []
        for place in range(len(recording.ops)):
            events.append((recording.starts[place], 1, place))
            events.append((recording.results[place], 0, place))
        events.sort()
        for time, begins, place in events:
            number = recording.ops[place]
            i = ops[number].instruction
            for ap in i.dst if begins else i.src:
                if ap is not None and ap.space != Space.HBM:
                    self._memories[ap.space].touch(ap, time, number if begins else -1)
        for memory in self._memories.values():
            memory.finish()

    def levels(self) -> dict[Space, list[tuple[float, int]]]:
        """Return (time in ns, bytes of a partition in use) of SBUF and PSUM."""
        return {space: memory.points() for space, memory in self._memories.items()}

    def residents(self) -> dict[Space, list[Resident]]:
        """Return the values in SBUF and PSUM, by the time of their first write."""
        return {space: memory.residents(self._ops) for space, memory in self._memories.items()}
