"""hlo-tile-rows: compute activations that are too large for SBUF in bands of rows, depth first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.footprint import Footprint
from neuronir.passes.lowering.batch.halo import banded_copy, needed
from neuronir.passes.lowering.batch.parts import Piece, used, write_parts
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.streaming.size import nbytes
from neuronir.passes.statistics import record

LARGE = 0.6
"""Ops whose operands and result exceed this fraction of a partition are computed in bands."""
BIG = 1 / 6
"""The readers of a value above this fraction of a partition join its producers."""
BAND = 1 / 3
"""The fraction of a partition for the operands and result of an op in one band; the bands before
and after it, and filters, need room too.
"""
MOST_EXTRA = 0.15
"""The fraction of the work that overlapping bands may duplicate."""
LONGEST = 64
"""Limit of ops that are computed band by band together."""


@dataclass(frozen=True)
class HloTileRowsPass(ModulePass):
    """Compute activations that are too large for SBUF by bands of rows.

    If the operands and the result of a convolution, a pooling or an elementwise op take most of
    SBUF, the pass replicates the op and its users once for each band of rows, depth first, so that
    only a few bands are live at once. Windows overlap the boundaries of bands, and rows there are
    computed for both bands. If that exceeds 15 % of the work, the chain of ops is split, and the
    activation between the two parts is concatenated. Without a target, the module is not changed.
    """

    name = "hlo-tile-rows"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    bands: int = field(
        default=0,
        metadata={
            "help": (
                "number of bands of all activations; 0: as few as fit, for activations "
                "that are too large"
            )
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Tile the entry function."""
        for block, machine in entry_on(op, self.target):
            tile_block(block, machine, self.bands)


def tile_block(block: Block, machine: Machine, bands: int) -> None:
    """Replicate the ops around large activations for each band of rows."""
    for region in _Finder(block, machine, bands).find():
        largest = max(nbytes(op.results[0]) for op in region.ops)
        order = [(part, op) for part in range(region.count) for op in region.ops]
        write_parts(block, region, order)
        record(HloTileRowsPass.name, "regions")
        record(HloTileRowsPass.name, "bands", region.count)
        record(HloTileRowsPass.name, "ops", len(region.ops))
        record(HloTileRowsPass.name, "bytes of the largest activation", largest)
        record(HloTileRowsPass.name, "bytes of a band of it", largest // region.count)


class Bands:
    """Ops that are computed in `count` bands of rows (see Parts)."""

    def __init__(self, ops: Sequence[Operation], rows: Mapping[SSAValue, int], count: int) -> None:
        self.ops: Collection[Operation] = dict.fromkeys(ops)
        self.count = count
        self.rows = rows
        self.left = {
            op.results[0]
            for op in ops
            if any(use.operation not in self.ops for use in op.results[0].uses)
        }
        self.possible = True
        self.bands = [self._bands(part) for part in range(count)]

    def _bands(self, part: int) -> dict[SSAValue, Piece]:
        """Return the rows of each result that a part computes."""
        out: dict[SSAValue, Piece] = {v: self.kept(part, v) for v in self.left}
        for op in reversed(list(self.ops)):
            piece = out.get(op.results[0])
            if piece is None or piece[1] >= piece[2]:
                self.possible = False
                break
            reads = needed(op, *piece)
            if reads is None:
                self.possible = False
                break
            for v, (d, low, end) in reads.items():
                if v.owner not in self.ops:
                    continue
                _, first, last = out.get(v, (d, low, end))
                out[v] = (d, min(first, low), max(last, end))
        return out

    def read(self, part: int, op: Operation, value: SSAValue) -> Piece | None:
        return (needed(op, *self.bands[part][op.results[0]]) or {}).get(value)

    def made(self, part: int, value: SSAValue) -> Piece:
        return self.bands[part][value]

    def kept(self, part: int, value: SSAValue) -> Piece:
        d = self.rows[value]
        extent = shape_of(value)[d]
        return d, part * extent // self.count, (part + 1) * extent // self.count

    def copy(self, part: int, op: Operation, mapping: Mapping[SSAValue, SSAValue]) -> Operation:
        return banded_copy(op, *self.bands[part][op.results[0]], mapping)

    def share(self, part: int, op: Operation) -> float:
        """Return the rows of an op's result that a part contributes."""
        d, low, end = self.bands[part][op.results[0]]
        return (end - low) / shape_of(op.results[0])[d]

    def extra(self) -> float:
        """Return the fraction of duplicated work."""
        work = {op: useful_flops(op) + prod(shape_of(op.results[0])) for op in self.ops}
        done = sum(n * self.share(part, op) for op, n in work.items() for part in range(self.count))
        return done / max(1, sum(work.values())) - 1


class _Finder:
    """Visits a block once and groups consecutive large ops."""

    def __init__(self, block: Block, machine: Machine, bands: int) -> None:
        self.block = block
        self.capacity = machine.sbuf_usable_partition_bytes
        self.large, self.big = (0.0, 0.0) if bands else (LARGE * self.capacity, BIG * self.capacity)
        self.bands = bands
        self.footprint = Footprint(block, machine)
        self.found: list[Bands] = []
        self.ops: list[Operation] = []
        self.best: Bands | None = None
        self.made: set[SSAValue] = set()
        self.outside: set[SSAValue] = set()  # ops outside that depend on them

    def find(self) -> list[Bands]:
        """Return the regions, in order."""
        for op in self.block.ops if self.footprint.rows else ():
            if op is self.block.last_op:
                break
            if not self._joins(op) and self.made:
                if any(v in self.made or v in self.outside for v in used(op)):
                    self.outside.update(op.results)
        self._close()
        return self.found

    def _joins(self, op: Operation) -> bool:
        """Add an op to the current ops, or start a new region with it if it is large."""
        if len(op.results) != 1 or op.results[0] not in self.footprint.rows:
            return False
        big = self.big
        follows = any(v in self.made and self.footprint.of(v) > big for v in op.operands)
        if not follows and self._load(op) <= self.large:
            return False
        shared = {v for o in self.ops for v in o.operands if self.footprint.of(v) > big}
        if follows or shared.intersection(op.operands):
            if self._extends(op):
                return True
        self._close()
        if self._load(op) <= self.large:
            return False
        return self._extends(op)

    def _extends(self, op: Operation) -> bool:
        if len(self.ops) == LONGEST or any(v in self.outside for v in used(op)):
            return False
        best = self._fewest([*self.ops, op])
        if best is None:
            return False
        self.ops.append(op)
        self.best = best
        self.made.add(op.results[0])
        return True

    def _close(self) -> None:
        if self.best is not None:
            self.found.append(self.best)
        self.ops, self.best = [], None
        self.made, self.outside = set(), set()

    def _load(self, op: Operation) -> int:
        return self.footprint.reads(op) + self.footprint.of(op.results[0])

    def _fewest(self, ops: list[Operation]) -> Bands | None:
        """Divide ops into as few bands as fit; None if impossible or if too much work is
        duplicated.
        """
        make = partial(Bands, ops, self.footprint.rows)
        loads = {op: self._load(op) for op in ops}
        room = BAND * self.capacity
        count = self.bands or max(2, -int(-max(loads.values()) // room))
        rows = [shape_of(op.results[0])[self.footprint.rows[op.results[0]]] for op in ops]
        while count <= min(rows):
            bands = make(count)
            if not bands.possible or (bands.extra() > MOST_EXTRA and not self.bands):
                return None
            most = max(loads[op] * bands.share(part, op) for op in ops for part in range(count))
            if most <= room or self.bands:
                return bands
            count += 1
        return None
