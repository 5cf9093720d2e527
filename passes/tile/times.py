"""Estimate the time of a group on the DMA engines, PE, and ACT and DVE, and its SBUF bytes.

The closed forms of dialects/nc/cost.py for whole tiles are used to choose groups and tile sizes.
Tests bound their error relative to the simulator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.interface import REDUCED, tiling_of
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.tile.axes import Key
from neuronir.passes.tile.buffers import in_runs, most_live, sizes_of, spread
from neuronir.passes.tile.group import Group, item_bytes
from neuronir.passes.tile.row_composites import axis_of, of_rows, row_passes

ROUND_NS = 1500.0
"""The overhead of an iteration: iterations overlap, except for the first and the last."""
REFILL = 0.4
"""The fraction of an iteration's latency that is lost each time the innermost loop restarts: its
last iterations overlap only partly with the next first ones. Measured on attention.
"""
FEWEST = 3
"""Iterations of the innermost loop from which nc-pipeline overlaps them: a prologue, and a kernel
that runs twice.
"""
PRODUCTS = ("hlo.dot", "hlo.convolution")
LEAST_ROWS = 1 / 16
"""The share of the partitions that rows occupy at least if they are transposed on the chip."""
PIECE = 2048
"""Elements of a partition that an instruction processes at a time."""


@dataclass(frozen=True)
class Times:
    """Busy times in ns over all iterations, and the maximum live bytes of a partition."""

    dma: float
    pe: float
    vector: float
    fixed: float
    bytes: int

    @property
    def total(self) -> float:
        """Return the time of the group with full overlap."""
        return max(self.dma, self.pe, self.vector) + self.fixed

    @property
    def order(self) -> tuple[float, float]:
        """Return the key to choose the fastest of several loop nests: of equal times, the one with
        the least work on the chip.
        """
        return self.total, self.pe + self.vector


def _leave(kept: set[int], group: Group) -> bool:
    """Return whether a group has outputs of these axes alone."""
    return any(
        leaves and kept.issuperset(leaves) for leaves in map(group.related.leaves, group.outputs)
    )


class GroupTimes:
    """Estimates the times of groups; `resident` values are in SBUF between groups."""

    def __init__(self, machine: Machine, resident: frozenset[SSAValue]) -> None:
        self.machine = machine
        self.resident = resident

    def of(self, group: Group, peak: int | None = None) -> Times:
        """Return the times of a group with its loops, whose `peak` may be known."""
        pe = vector = 0.0
        first, kinds = group.kinds
        costs: list[tuple[float, float]] = []
        for op in first:
            rounds = group.rounds(group.depth_of(group.axes_of(op))) if group.loops else 1
            p, v = self._op(op, group)
            costs.append((p * rounds, v * rounds))
        for kind in kinds:
            p, v = costs[kind]
            pe += p
            vector += v
        dma = sum(self.moved(key, group) for key in self._read(group))
        dma += sum(self.moved(v, group) for v in group.outputs if v not in self.resident)
        rounds = group.rounds(len(group.loops))
        fixed = self.machine.dma_fixed_ns * 2 + ROUND_NS * min(rounds, 4)
        overlap = not group.loops or group.loops[-1].rounds >= FEWEST
        again = (group.rounds(max(0, len(group.loops) - 1)) if overlap else rounds) - 1
        fixed += REFILL * again * (dma + pe + 2 * vector) / rounds
        return Times(dma, pe, vector, fixed, self.peak(group) if peak is None else peak)

    def alone(self, op: Operation, group: Group) -> float:
        """Return the time of an op on ACT and DVE over all iterations, in ns."""
        return self._op(op, group)[1] * group.rounds(group.depth_of(group.axes_of(op)))

    def _read(self, group: Group) -> list[Key]:
        """Return the uses of loaded values, equal slices once."""
        seen: set[tuple[SSAValue, tuple[int, ...]]] = set()
        out: list[Key] = []
        for key in group.inputs:
            value = group.value(key)
            mark = value, group.tile(key)
            if mark not in seen and value not in self.resident:
                seen.add(mark)
                out.append(key)
        return out

    def moved(self, key: Key, group: Group) -> float:
        """Return the time in ns of all DMA engines for the tiles of a value, over all
        iterations.
        """
        m = self.machine
        value = group.value(key)
        size = item_bytes(value)
        leaves = group.related.leaves(key)
        run = size
        for axis in reversed(leaves):
            run *= group.extent(axis)
            if group.extent(axis) != group.related.axes.size(axis):
                break
        tile = group.tile_elements(key) * size
        tile_rows = max(1, tile // run)
        partitions = spread(tuple(group.extent(a) for a in leaves), m.partitions)
        rows = max(tile_rows, min(partitions, tile // 512) if tile >= 512 else 1)
        rows = max(rows, int(self._scattered(leaves, group) * tile / size))
        if not isinstance(key, tuple):
            rows = max(rows, self._product_rows(value, group))
        each = max(m.dma_queue_descriptor_ns * 0.95, tile / rows / m.dma_engine_gbps)
        rounds = group.rounds(group.depth_of(group.related.based(leaves)))
        return rounds * max(rows * each / m.dma_engines, m.dma_trigger_ns)

    def _product_rows(self, value: SSAValue, group: Group) -> int:
        """Return the least descriptors of a tile that is stored as PE leaves the product which it
        follows from: a partition holds a row of it, or several ones one behind the other, for each
        position of the batch axes outside of the rows.
        """
        leaves = group.related.leaves(value)
        for op in group.ops:
            if op.name == "hlo.dot" and set(leaves) == set(group.related.leaves(op.results[0])):
                batch = len(ints(op, "lhs_batch_dims"))
                end = len(shape_of(op.operands[0])) - len(ints(op, "lhs_contracting_dims"))
                dims = group.related.of(op.results[0])
                rows = [a for row in dims[batch:end] for a in row]
                first = min(map(leaves.index, rows), default=len(leaves))
                counts = {a for row in dims[:batch] for a in row}
                count = prod(group.extent(a) for a in leaves[:first] if a in counts)
                return count * min(prod(map(group.extent, rows)), self.machine.partitions)
        return 0

    def _scattered(self, leaves: Sequence[int], group: Group) -> float:
        """Return the share of the elements of a tile that are loaded with a descriptor each.

        PE contracts over partitions. Rows whose positions are contracted are transposed on the
        chip, if they divide over partitions: 768 rows do, and 769 do not.
        """
        m, reduced = self.machine, group.related.reduced
        sums = [a for a in leaves if any(op.name in PRODUCTS for op in reduced.get(a, ()))]
        if not leaves or leaves[-1] not in sums:
            return 0.0
        rows = tuple(group.extent(a) for a in leaves if a not in sums)
        if spread(rows, m.partitions) >= min(m.partitions * LEAST_ROWS, prod(rows)):
            return 0.0
        return min(1.0, m.partitions / group.extent(leaves[-1]))

    def _op(self, op: Operation, group: Group) -> tuple[float, float]:
        """Return the time of one execution on PE, and on ACT and DVE together."""
        if op.name == "hlo.dot":
            return self._dot(op, group)
        m = self.machine
        keys = [*op.results, *(group.related.key(op, i) for i in range(len(op.operands)))]
        most = max(keys, key=group.tile_elements)
        leaves = group.related.leaves(most)
        elements = group.tile_elements(most) / self._partitions(op, leaves, group)
        if of_rows(op):
            passes = row_passes(op)
        else:
            passes = {"hlo.select": 2.5, "hlo.divide": 2.0, "tile.scan": 4.0}.get(op.name, 1.3)
        pieces = max(1.0, elements / PIECE)
        return 0.0, (elements * passes + pieces * m.dve_overhead_cycles) / (2 * m.dve_ghz)

    def _partitions(self, op: Operation, leaves: Sequence[int], group: Group) -> int:
        """Return the partitions that an op uses at once.

        They come from axes that it does not reduce and that are not batch axes of a dot (whose
        results are computed in sequence). Other axes cost an additional pass to convert. A
        reduction that is not a sum uses either kept or reduced axes if its results leave the group,
        because they would lie apart on partitions.
        """
        kept = set(group.related.leaves(op.results[0]) if op.name == "hlo.reduce" else leaves)
        axes = leaves
        if group.batch or not kept.issuperset(leaves):
            axes = [a for a in leaves if a in kept and a not in group.batch]
        if of_rows(op):
            row = group.related.of(group.related.key(op, 0))[axis_of(op)]
            axes = [a for a in axes if a not in row]
            return spread(tuple(group.extent(a) for a in axes), self.machine.partitions)
        anywhere = leaves
        if op.name == "hlo.reduce" and combiner(op) != "hlo.add" and _leave(kept, group):
            anywhere = [a for a in leaves if a not in kept]
        fit = in_runs(tuple([group.extent(a) for a in axes]), self.machine.partitions)
        if anywhere is axes:
            return fit
        most = in_runs(tuple([group.extent(a) for a in anywhere]), self.machine.partitions)
        return max(fit, most // 2)

    def _dot(self, op: Operation, group: Group) -> tuple[float, float]:
        m = self.machine
        tiling = tiling_of(op)
        assert tiling is not None
        sides: list[tuple[int, int]] = []  # (free, contracted) of each operand
        batch = 1
        nbatch = len(ints(op, "lhs_batch_dims"))
        for i in (0, 1):
            dims = group.related.of(group.related.key(op, i))
            free = contracted = 1
            for row, need in zip(dims, tiling.operands[i], strict=True):
                n = prod(group.extent(a) for a in row)
                if need is REDUCED:
                    contracted *= n
                elif isinstance(need, int) and need < nbatch:
                    batch *= n if i == 0 else 1
                else:
                    free *= n
            sides.append((free, contracted))
        (a, k), (b, _) = sides
        (a_all, _), (b_all, _) = self._whole_sides(op)
        # fewer rows or columns than PE has take as long to transpose and evict as all
        a, b = (max(n, min(m.partitions, every)) for n, every in ((a, a_all), (b, b_all)))
        single = dtype_of(element(op.operands[0])) is DType.F32
        passes = m.fp32_passes if single else 1
        best = float("inf")
        bank = m.psum_bank_bytes // 4
        for rows, columns in ((a, b), (b, a)):
            tiles = -(-rows // m.pe_columns) * -(-k // m.partitions)
            stream = -(-columns // bank)
            width = max(min(m.matmul_min_cycles, rows), columns / stream)
            load = min(rows, m.pe_columns) / m.stationary_load_divisor
            each = width + m.matmul_overhead_cycles + load
            best = min(best, tiles * stream * each)
        out = a * b * batch / min(m.partitions, max(a, b))
        return batch * passes * best / m.pe_ghz, 1.1 * out / (2 * m.dve_ghz)

    def _whole_sides(self, op: Operation) -> list[tuple[int, int]]:
        """Return the (free, contracted) elements of both operands of a dot, without loops."""
        tiling = tiling_of(op)
        assert tiling is not None
        batch = len(ints(op, "lhs_batch_dims"))
        out = []
        for v, needs in zip(op.operands, tiling.operands, strict=True):
            free = contracted = 1
            for n, need in zip(shape_of(v), needs, strict=True):
                if need is REDUCED:
                    contracted *= n
                elif not isinstance(need, int) or need >= batch:
                    free *= n
            out.append((free, contracted))
        return out

    def peak(self, group: Group) -> int:
        """Return the maximum bytes of a partition that a group takes.

        Without loops, this is the maximum of the live bytes in program order. In a loop, it is
        everything that an iteration makes, twice, because iterations overlap.
        """
        sizes = sizes_of(group, self.machine.partitions, self.resident)
        if not group.loops:
            return most_live(group, {key: size for key, (size, _) in sizes.items()})
        inner = len(group.loops)
        return sum(size * (2 if depth == inner else 1) for size, depth in sizes.values())
