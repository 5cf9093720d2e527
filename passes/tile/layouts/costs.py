"""What it takes to have a value in a partition: loads, stores, transposes, copies, in ns.

The closed forms follow dialects/nc/cost.py and what the rules of lower-tile-to-nc emit. The time is
that of the resource that is busiest, plus a part of what the others do: engines overlap, but not
all of the time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.conversions import Way, way
from neuronir.passes.tile.layouts.maps import Partition, own, positions, repeats, span

NEVER = float("inf")
ELEMENT_NS = 0.5
"""An element of a partition on ACT and DVE, which share the work."""
START_NS = 50.0
"""An instruction's fixed part."""


@dataclass(frozen=True)
class Weights:
    """What a ns of a resource counts: those that the program does not wait for count less."""

    dma: float = 1.0
    pe: float = 1.0
    vector: float = 1.0

    @staticmethod
    def of(dma: float, pe: float, vector: float) -> "Weights":
        """By how long each is busy at least."""
        most = max(dma, pe, vector, 1.0)
        return Weights(*(LEAST_WEIGHT + (1 - LEAST_WEIGHT) * t / most for t in (dma, pe, vector)))


LEAST_WEIGHT = 0.25
"""What a ns of a resource with nothing to do counts: it may still hold up what follows."""


WAITS = 1.02
"""What a transpose counts more of which every tile has elements from the first to the last: it
cannot begin before all of the value is there."""


class Costs:
    """Costs of one machine, a ns of each resource by its weight."""

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
            Way.HALVES: self._halves,
            Way.BLOCKS: self._blocks,
            Way.MEMORY: self._memory,
        }

    def candidates(self, value: SSAValue) -> tuple[Partition, ...]:
        """The partitions that are tried for a value."""
        return (*candidates(shape_of(value), self.limit), *self.extras.get(value, ()))

    def fits(self, shape: tuple[int, ...], dtype: DType, partition: Partition) -> bool:
        """Whether a value takes no more of a partition of SBUF than there is."""
        size = prod(shape)
        each = -(-size // max(1, positions(own(partition, size)))) * dtype.size
        return each <= self.machine.sbuf_usable_partition_bytes

    # transfers

    def transfer(
        self, shape: tuple[int, ...], run: int, dtype: DType, partition: Partition
    ) -> float:
        """Between HBM, where `run` elements of the slice lie in one piece, and a partition."""
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
        """One instruction over all elements, some times."""
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
        """From one partition to another."""
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
        """By products with zeros and ones."""
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
        """By PE; what has one byte becomes bf16 before."""
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

    def _halves(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """By PE, as whole numbers of 16 bits in fp32."""
        size, halves = prod(shape), dtype.size // 2
        rows = max(1, positions(own(source, size)))
        into = halves * size / rows * ELEMENT_NS
        once = self._transpose(shape, DType.F32, source, target)
        return halves * once + self.weights.vector * into

    def _blocks(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """By DVE, 32 x 32 at a time."""
        size = prod(shape)
        wide, rows = max(1, positions(target)), max(1, positions(own(source, size)))
        tiles = max(1, size // (wide * rows)) * -(-wide // 32) * -(-rows // 32)
        return self.weights.vector * tiles * 70 / self.machine.dve_ghz

    def _memory(
        self, shape: tuple[int, ...], dtype: DType, source: Partition, target: Partition
    ) -> float:
        """A store and a load, of which the second waits for the first."""
        size = prod(shape)
        moved = sum(self._transfer(shape, size, dtype, p) for p in (own(source, size), target))
        return moved + 2 * self.machine.dma_fixed_ns


@lru_cache(maxsize=100_000)
def contiguous(partition: Partition, run: int) -> int:
    """Elements in a row that a partition has of an array of which `run` lie in a row: up to the
    lowest digit that lies on partitions."""
    return max(1, min([run, *(a.stride for a, _ in partition)]))


def run_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> int:
    """Elements of a slice of a row-major array that lie in a row."""
    run = 1
    for n, m in zip(reversed(shape), reversed(whole), strict=True):
        run *= n
        if n != m:
            break
    return run


def natural(shape: tuple[int, ...], limit: int) -> Partition:
    """The partition in which each partition has one run of neighbours: outermost digits."""
    strides = row_major(shape)
    from neuronir.passes.lowering.layouts.layout import atom, divisor

    for d, n in enumerate(shape):
        if n > 1:
            width = n if n <= limit else divisor(n, limit)
            return ((atom(width, strides[d] * (n // width)), 1),)
    return ()
