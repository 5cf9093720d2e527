"""Choose the tile size of a group: two iterations, and its whole values, must fit in SBUF."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import divisor
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling
from neuronir.passes.lowering.streaming.group import Group
from neuronir.passes.lowering.streaming.growing import BIG_SHARE, Graph, drop
from neuronir.passes.lowering.streaming.size import attention_inside, nbytes, tile_bytes

ROW_BYTES = 4096
"""Bytes per partition of a tile with which DMA reaches its full rate (docs/hardware.md section
2.5).
"""
ROUNDS = 2
"""Iterations of a loop whose tiles are in SBUF at a time, if they fit."""


class Fitting:
    """Chooses sizes of tiles."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.capacity = machine.sbuf_usable_partition_bytes
        self.total = self.capacity * machine.partitions

    def fit(
        self,
        graph: Graph,
        seed: Operation,
        members: set[Operation],
        tiling: Tiling,
        extent: int,
    ) -> Group | None:
        """Return the group with its tile, reduced until it fits."""
        while True:
            ops = sorted(members, key=graph.index.__getitem__)
            rows = self.rows(ops, tiling, extent)
            if rows is not None:
                return Group(ops, tiling, extent, rows)
            dots = [op for op in ops if isinstance(op, DotOp) and op is not seed]
            if not dots:
                return None
            gone = members & graph.reachable([dots[-1]], members, forward=True)
            if seed in gone:
                gone = members & graph.reachable([dots[0]], members, forward=False)
            if seed in gone:
                return None
            drop(members, tiling, gone)
            graph.close(seed, members, tiling)

    def rows(self, ops: Sequence[Operation], tiling: Tiling, extent: int) -> int | None:
        """Return the tile: as many rows as make long DMA rows, or fewer that fit."""
        base = self._unit(ops, tiling, extent)
        widest = max(nbytes(v) for v, d in tiling.items() if d != WHOLE)
        row = -(-widest // extent)
        rows = base
        while rows * 2 <= extent and rows * row < ROW_BYTES * self.machine.partitions:
            rows *= 2
        while self.estimate(ops, tiling, rows / extent, ROUNDS) > self.capacity:
            if rows <= base:
                if self.estimate(ops, tiling, rows / extent, 1) > self.capacity:
                    return None
                break
            rows = max(base, rows // 2)
        if rows % self.machine.partitions:
            return rows if rows < extent else None
        whole = _even(extent, rows, self.machine.partitions)
        return whole if whole < extent else None

    def _unit(self, ops: Sequence[Operation], tiling: Tiling, extent: int) -> int:
        """Return the minimum tile of an iteration: all partitions, or a whole bank of columns."""
        inner = [
            prod(shape_of(v)[d + 1 : -1])
            for v, d in tiling.items()
            if d != WHOLE and nbytes(v) * BIG_SHARE >= self.total
        ]
        limit = -(-self.machine.partitions // min(inner, default=1))
        for op in ops:
            if isinstance(op, DotOp) and tiling.get(op.operands[1], WHOLE) != WHOLE:
                if tiling.get(op.operands[0], WHOLE) == WHOLE:
                    limit = self.machine.matmul_max_moving
        if any(tiling.get(v, WHOLE) != WHOLE for v in attention_inside(ops, self.machine)):
            limit = max(limit, self.machine.matmul_max_moving)
        for v, d in tiling.items():
            large = nbytes(v) * BIG_SHARE >= self.total
            if large and d != WHOLE and d == len(shape_of(v)) - 1 and v.owner not in ops:
                limit = max(limit, ROW_BYTES // 2 // (nbytes(v) // prod(shape_of(v))))
        return min(limit, extent)

    def estimate(self, ops: Sequence[Operation], tiling: Tiling, share: float, rounds: int) -> int:
        """Return the bytes per partition of the group, for a tile of that `share` of the whole."""
        whole, tile = tile_bytes(ops, tiling, share, self.machine)
        return whole + rounds * tile


def _even(extent: int, rows: int, unit: int) -> int:
    """Return a tile of at most `rows`, preferring one of at least half that leaves no remainder."""
    for n in range(rows // unit, 0, -1):
        if extent % (n * unit) == 0 and 2 * n * unit > rows:
            return n * unit
    best = divisor(extent, rows)
    return best if 4 * best >= 3 * rows else rows
