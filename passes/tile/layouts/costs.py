"""Estimate the costs in ns of loads, stores, transposes and copies between partitions.

The closed forms follow dialects/nc/cost.py and the code that lower-tile-to-nc emits. The time is
that of the busiest resource, plus a fraction of the others, because engines overlap only partly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import atom, divisor, row_major, span
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.conversions import Parts, Way, way
from neuronir.passes.tile.layouts.maps import Partition, own, positions, repeats

NEVER = float("inf")
ELEMENT_NS = 0.5
"""The time per element of a partition on ACT and DVE, which share the work."""
START_NS = 50.0
"""The fixed time of an instruction."""


@dataclass(frozen=True)
class Weights:
    """The weight of a ns of each resource: less for resources that are not the
    bottleneck.
    """

    dma: float = 1.0
    pe: float = 1.0
    vector: float = 1.0

    @staticmethod
    def of(dma: float, pe: float, vector: float) -> "Weights":
        """Compute weights from the minimum busy time of each resource."""
        most = max(dma, pe, vector, 1.0)
        return Weights(*(LEAST_WEIGHT + (1 - LEAST_WEIGHT) * t / most for t in (dma, pe, vector)))


LEAST_WEIGHT = 0.25
"""The weight of a ns of an idle resource, which may still delay later work."""


WAITS = 1.02
"""The extra cost of a transpose whose tiles span all of the value: it cannot start before the whole
value is available.
"""


def fits(machine: Machine, shape: tuple[int, ...], dtype: DType, partition: Partition) -> bool:
    """Return whether a value fits in a partition of SBUF."""
    size = prod(shape)
    each = -(-size // max(1, positions(own(partition, size)))) * dtype.size
    return each <= machine.sbuf_usable_partition_bytes


class Costs:
    """Costs of one machine, with weights for the ns of each resource."""

    def __init__(
        self, machine: Machine, weights: Weights, extras: Mapping[SSAValue, tuple[Partition, ...]]
    ) -> None:
        self.machine = machine
        self.extras = extras
        self.weights = weights
        self.limit = machine.partitions
        self._convert: dict[object, float] = {}
        self._move: dict[object, float] = {}
        self._ways: dict[Way, Callable[..., float]] = {
            Way.SAME: lambda *_: 0.0,
            Way.SELECT: self._select,
            Way.TRANSPOSE: self._transpose,
            Way.PARTS: self._in_parts,
            Way.BLOCKS: self._blocks,
            Way.STACK: self._stack,
            Way.MEMORY: self._memory,
        }

    def candidates(self, value: SSAValue) -> tuple[Partition, ...]:
        """Return the candidate partitions of a value."""
        return (*candidates(shape_of(value), self.limit), *self.extras.get(value, ()))

    def fits(self, shape: tuple[int, ...], dtype: DType, partition: Partition) -> bool:
        """Return whether a value fits in a partition of SBUF."""
        return fits(self.machine, shape, dtype, partition)

    # transfers

    def transfer(
        self, shape: tuple[int, ...], run: int, dtype: DType, partition: Partition
    ) -> float:
        """Return the cost of a transfer between HBM, with contiguous runs of `run`, and a
        partition.
        """
        key = (shape, run, dtype, partition)
        if key not in self._move:
            self._move[key] = self._transfer(shape, run, dtype, partition)
        return self._move[key]

    def _transfer(
        self, shape: tuple[int, ...], run: int, dtype: DType, partition: Partition
    ) -> float:
        m, size = self.machine, prod(shape)
        inner = contiguous(own(partition, size), run)
        copies = positions(repeats(partition, size))
        pieces = size // inner * copies
        each = max(m.dma_queue_descriptor_ns * 0.95, inner * dtype.size / m.dma_engine_gbps)
        rows = span(partition)
        waste = 1.0 if rows >= m.dma_engines else m.dma_engines / max(1, rows)
        time = max(pieces * each / m.dma_engines * min(waste, 4.0), m.dma_trigger_ns)
        return self.weights.dma * time

    # on the chip

    def elementwise(self, shape: tuple[int, ...], partition: Partition, passes: float) -> float:
        """Return the cost of one instruction over all elements, executed several times."""
        size = prod(shape)
        per = size / max(1, positions(own(partition, size)))
        pieces = max(1.0, per / 4096)
        return self.weights.vector * passes * (per * ELEMENT_NS + pieces * START_NS)

    def convert(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        source: Partition,
        target: Partition,
        special: bool = False,
    ) -> float:
        """Return the cost of a conversion between partitions."""
        if source == target:
            return 0.0
        key = (shape, dtype, source, target, special)
        if key not in self._convert:
            how = way(self.machine, prod(shape), dtype, source, target, special)
            self._convert[key] = self._ways[how](shape, dtype, source, target)
        return self._convert[key]

    def _select(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of a conversion by products with zeros and ones."""
        m, size = self.machine, prod(shape)
        columns = size // max(1, positions(own(source, size)))
        passes = m.fp32_passes if dtype is DType.F32 else 1
        banks = -(-columns // (m.psum_bank_bytes // 4))
        pe = (columns + banks * (m.matmul_min_cycles + m.matmul_overhead_cycles)) * passes
        out = banks * 2 * START_NS + columns * ELEMENT_NS
        return self.weights.pe * pe / m.pe_ghz + self.weights.vector * out

    def _transpose(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of a PE transpose; one-byte types become bf16 first."""
        m, size = self.machine, prod(shape)
        wide, rows = max(1, positions(target)), max(1, positions(own(source, size)))
        blocks = max(1, size // (wide * rows))
        passes = m.fp32_transpose_passes if dtype.size == 4 else 1
        fixed = m.matmul_overhead_cycles + wide / m.stationary_load_divisor
        pe = blocks * passes * (max(m.matmul_min_cycles, rows) + fixed) / m.pe_ghz
        out = size / wide * ELEMENT_NS
        if dtype.size == 1:
            out += size / rows * ELEMENT_NS
        per_bank = max(1, m.psum_bank_bytes // max(dtype.size, 2) // max(rows, 1))
        out += -(-blocks // per_bank) * START_NS
        total = self.weights.pe * pe + self.weights.vector * out
        if any(a.end == size for a, _ in target):
            total *= WAITS
        return total

    def _in_parts(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of PE transposes of integers of some bits each."""
        size, parts = prod(shape), Parts.of(dtype, self.machine)
        rows = max(1, positions(own(source, size)))
        into = size / rows * ELEMENT_NS
        once = self._transpose(shape, parts.kind, source, target)
        return parts.count * (once + self.weights.vector * into)

    def _blocks(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of DVE transposes of 32 x 32 blocks."""
        size = prod(shape)
        wide, rows = max(1, positions(target)), max(1, positions(own(source, size)))
        tiles = max(1, size // (wide * rows)) * -(-wide // 32) * -(-rows // 32)
        return self.weights.vector * tiles * 70 / self.machine.dve_ghz

    def _stack(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of copies to other partitions, one for each start."""
        size = prod(shape)
        parts = [positions(own(p, size)) for p in (source, target)]
        copies = max(parts) // min(parts)
        out = copies * START_NS + size / min(parts) * ELEMENT_NS
        return self.weights.vector * out

    def _memory(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """Return the cost of a store and a load, where the load waits for the store."""
        size = prod(shape)
        moved = sum(self._transfer(shape, size, dtype, p) for p in (own(source, size), target))
        return moved + 2 * self.machine.dma_fixed_ns


@lru_cache(maxsize=100_000)
def contiguous(partition: Partition, run: int) -> int:
    """Return the contiguous elements of a partition, for an array with contiguous runs of `run`.

    A run ends at the lowest digit on partitions.
    """
    return max(1, min([run, *(a.stride for a, _ in partition)]))


def run_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> int:
    """Return the contiguous elements of a slice of a row-major array."""
    run = 1
    for n, m in zip(reversed(shape), reversed(whole), strict=True):
        run *= n
        if n != m:
            break
    return run


def natural(shape: tuple[int, ...], limit: int) -> Partition:
    """Return the layout with outer digits on partitions, so that each partition holds one
    contiguous run.
    """
    strides = row_major(shape)
    for d, n in enumerate(shape):
        if n > 1:
            width = n if n <= limit else divisor(n, limit)
            return ((atom(width, strides[d] * (n // width)), 1),)
    return ()
