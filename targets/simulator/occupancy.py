"""How full SBUF and PSUM are over time, from a recorded run.

Memory is looked at in pieces of a partition. A piece is in use from a write until the last access
before the next write that starts a new value.
"""

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import hull
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.timing_code import Op
from neuronir.targets.simulator.timing_state import Recording

_PIECE = {Space.SBUF: 512, Space.PSUM: 256}


class _Memory:
    def __init__(self, size: int, piece: int) -> None:
        self.piece = piece
        pieces = -(-size // piece)
        self.written: NDArray[np.float64] = np.full(pieces, -1.0)
        self.used: NDArray[np.float64] = np.full(pieces, -1.0)
        self.changes: list[tuple[float, int]] = []

    def touch(self, ap: AccessPattern, time: float, writes: bool) -> None:
        low, high = hull(ap, ap.address.const)
        at = slice(max(0, low // self.piece), -(-high // self.piece))
        if writes:
            written, used = self.written[at], self.used[at]
            fresh = used > written  # read since it was written: this is a new value
            self._close(written[fresh], used[fresh])
            begin = fresh | (written < 0)
            written[begin] = time
            self.used[at] = np.maximum(used, np.where(begin, time, used))
        else:
            self.used[at] = np.maximum(self.used[at], time)

    def _close(self, begins: NDArray[np.float64], ends: NDArray[np.float64]) -> None:
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            self.changes += ((begin, 1), (end, -1))

    def finish(self) -> list[tuple[float, int]]:
        """(time, bytes of a partition in use) at each change."""
        live = self.written >= 0
        self._close(self.written[live], self.used[live])
        self.changes.sort()
        level = 0
        points: list[tuple[float, int]] = []
        for time, change in self.changes:
            level += change
            if points and points[-1][0] == time:
                points.pop()
            points.append((time, level * self.piece))
        return points


def occupancy(
    recording: Recording, ops: list[Op], machine: Machine
) -> dict[Space, list[tuple[float, int]]]:
    """(time in ns, bytes of a partition in use) of SBUF and PSUM; addresses of loop rounds are
    taken at their first round."""
    memories = {
        Space.SBUF: _Memory(machine.sbuf_partition_bytes, _PIECE[Space.SBUF]),
        Space.PSUM: _Memory(machine.psum_partition_bytes, _PIECE[Space.PSUM]),
    }
    events: list[tuple[float, int, int]] = []
    for place in range(len(recording.ops)):
        events.append((recording.starts[place], 1, place))
        events.append((recording.results[place], 0, place))
    events.sort()
    for time, begins, place in events:
        i = ops[recording.ops[place]].instruction
        for role, patterns in enumerate((i.dst, i.src)):
            for ap in patterns:
                if ap is None or ap.space == Space.HBM:
                    continue
                if role == 0 and begins:
                    memories[ap.space].touch(ap, time, True)
                elif role == 1 and not begins:
                    memories[ap.space].touch(ap, time, False)
    return {space: memory.finish() for space, memory in memories.items()}
