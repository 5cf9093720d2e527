"""How a large product is cut into blocks: the best of all cuts by a closed form.

The form adds up, for each step (a block of the contraction for a block of rows and a panel of
columns), what its busiest resource takes by the cost model of the simulator. It knows no waits but
those named below; the choice depends on sizes and types alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from neuronir.dialects.nc.enums import AluOp, DType, Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.layout import tile_width
from neuronir.passes.lowering.products.times import (
    eviction_ns,
    issue_ns,
    matmul_ns,
    pattern,
    transpose_ns,
)

BANKS = 4
"""Results that are summed up at a time: half of the banks, so that the others are evicted."""
PIECES = 4
"""Transfers that a block is loaded by, so that products begin when the first is there."""
EVICTED = (2, 4)
"""Tiles of results that may lie in SBUF at a time until they are stored."""
LEFT_BYTES = 1024
"""Of each partition of SBUF, for what else a program keeps there."""
CODE = 0.02
"""What a first block of its own must gain: it is that much more code."""
UNEVEN = 0.01
"""What steps that do not pair up, or end with a shorter one, must gain, for the same reason."""
SHARPNESS = 8
"""Of the maximum of the times of two that go on at once: where both are alike, each waits for the
other now and then, 9 % in all."""
LOOP_NS = 100.0
"""Between two loops PE waits for the first instructions of the second: a semaphore each way, the
latency of PE and that of an eviction."""


@dataclass(frozen=True)
class Problem:
    """A product [m, k] @ [k, n] of arrays in HBM. `dtype` is the type of the products, `loaded`
    those of the two arrays and `result` that of the product; `across` says of each array whether
    its contraction lies along its rows, so that PE has to transpose it."""

    m: int
    n: int
    k: int
    dtype: DType
    loaded: tuple[DType, DType]
    result: DType
    across: tuple[bool, bool]


@dataclass(frozen=True)
class Blocking:
    """Tiles of `rows` x `columns` with `depth` of the contraction each, and how many of them make a
    block of rows, a panel of columns and a block of the contraction. Of a side that is transposed
    `staged` tiles of rows lie in SBUF at a time, and `evicted` tiles of results. With `ramp` the
    first block of rows is code of its own, whose products begin with the first piece of the first
    step. `ns` is the estimate, `least_ns` what the products alone take at the peak.
    """

    rows: int
    columns: int
    depth: int
    row_tiles: int
    column_tiles: int
    depth_tiles: int
    staged: int = 2
    evicted: int = 2
    ramp: bool = False
    ns: float = 0.0
    least_ns: float = 0.0

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return self.rows * self.row_tiles

    @property
    def panel_columns(self) -> int:
        """Columns of a panel."""
        return self.columns * self.column_tiles

    @property
    def block_depth(self) -> int:
        """Elements of a block of the contraction."""
        return self.depth * self.depth_tiles

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles of rows, of the contraction and of columns."""
        return self.row_tiles, self.depth_tiles, self.column_tiles

    @property
    def reuse(self) -> int:
        """Tiles of columns that share each stationary, at most."""
        return ceil(self.column_tiles / ceil(self.column_tiles / BANKS))

    def counts(self, problem: Problem) -> tuple[int, int, int]:
        """Panels, blocks of rows, blocks of the contraction."""
        return (
            -(-problem.n // self.panel_columns),
            -(-problem.m // self.block_rows),
            -(-problem.k // self.block_depth),
        )

    def uneven(self, problem: Problem) -> bool:
        """Whether the steps are an odd number of several, or the last one is shorter."""
        steps = self.counts(problem)[2]
        return steps > 1 and (steps % 2 == 1 or problem.k % self.block_depth != 0)

    def copies(self, problem: Problem) -> tuple[int, int]:
        """Buffers that the blocks of the left and the right side take in turn."""
        panels, blocks, steps = self.counts(problem)
        right = panels * blocks * steps if steps > 1 else panels  # a panel stays for all rows
        return min(2, panels * blocks * steps), min(2, right)


@dataclass(frozen=True)
class Blocks:
    """Whether products go block by block, and in how many tiles (of rows, of the contraction, of
    columns) where that is not to be searched for."""

    wanted: bool = True
    tiles: tuple[int, int, int] | None = None

    @staticmethod
    def parse(text: str) -> "Blocks":
        """`search`, `none` or numbers of tiles such as `8x8x4`; NIR_LOW007 for anything else."""
        if text in ("search", "none"):
            return Blocks(text == "search")
        numbers = text.split("x")
        if len(numbers) != 3 or not all(n.isdecimal() and int(n) for n in numbers):
            raise NeuronError(
                "NIR_LOW007",
                f"lower-hlo-to-nc: blocks are 'search', 'none' or three numbers of tiles, not "
                f"'{text}'",
                help='such as {blocks="8x8x4"}: tiles of rows, of the contraction, of columns',
            )
        rows, depth, columns = (int(n) for n in numbers)
        return Blocks(True, (rows, depth, columns))


_known: dict[tuple[Problem, str, Blocks], Blocking | None] = {}


def choose(problem: Problem, machine: Machine, blocks: Blocks) -> Blocking | None:
    """The blocking with the least estimate, of those that are wanted; None where none fits into
    SBUF."""
    key = (problem, machine.name, blocks)
    if key not in _known:
        estimate = _Estimate(problem, machine)
        found = [
            b
            for b in _candidates(problem, machine)
            if estimate.fits(b) and blocks.tiles in (None, b.tiles)
        ]
        timed = [
            (estimate.total(b) * (1 + CODE * b.ramp + UNEVEN * b.uneven(problem)), i)
            for i, b in enumerate(found)
        ]
        _known[key] = None
        if timed:
            b = found[min(timed)[1]]
            _known[key] = replace(b, ns=estimate.total(b), least_ns=estimate.least(b))
    return _known[key]


def _shares(count: int) -> list[int]:
    """The sizes of even shares of `count`, largest first."""
    return sorted({-(-count // i) for i in range(1, count + 1)}, reverse=True)


def _candidates(p: Problem, machine: Machine) -> Iterator[Blocking]:
    rows = tile_width(p.m, min(machine.partitions, machine.pe_columns))
    columns = tile_width(p.n, machine.matmul_max_moving)
    depth = tile_width(p.k, machine.partitions)
    for column_tiles in _shares(-(-p.n // columns)):
        if column_tiles > 2 * BANKS:
            continue
        for row_tiles in _shares(-(-p.m // rows)):
            if row_tiles < min(2, -(-p.m // rows)):
                continue  # buffers of results would not take turns
            for depth_tiles in _shares(-(-p.k // depth)):
                tiles = (row_tiles, column_tiles, depth_tiles)
                whole = [row_tiles, -(-column_tiles * columns // machine.partitions)]
                most = max(
                    n for n, across in zip(whole, (True, p.across[1]), strict=True) if across
                )
                for staged in sorted({max(2, min(n, most)) for n in (2, 4, 8, most)}):
                    for evicted in EVICTED:
                        for ramp in (False, True) if not p.across[1] else (False,):
                            yield Blocking(rows, columns, depth, *tiles, staged, evicted, ramp)


class _Estimate:
    """Times in ns of the parts of a product."""

    def __init__(self, problem: Problem, machine: Machine) -> None:
        self.p = problem
        self.machine = machine

    def fits(self, b: Blocking) -> bool:
        """Whether the buffers fit into SBUF."""
        p, size = self.p, self.p.dtype.size
        steps = b.counts(p)[2]
        left, right = b.copies(p)
        total = b.depth_tiles * (left * b.block_rows + right * b.panel_columns) * size
        if steps > 1:
            total += b.row_tiles * b.panel_columns * DType.F32.size
        total += b.evicted * b.panel_columns * p.result.size + b.staged * b.block_depth * size
        return total + LEFT_BYTES <= self.machine.sbuf_usable_partition_bytes

    def least(self, b: Blocking) -> float:
        """All products at one column a cycle."""
        passes = self._matmul(b, True) * self.machine.pe_ghz
        passes /= b.columns + self.machine.matmul_reuse_cycles
        m, p = self.machine, self.p
        return passes * p.m * p.n * p.k / (m.pe_rows * m.pe_columns) / m.pe_ghz

    def total(self, b: Blocking) -> float:
        """The whole product."""
        p = self.p
        panels, blocks, steps = b.counts(self.p)
        tiles, column_tiles = -(-p.m // b.rows), -(-p.n // b.columns)
        depth_tiles = -(-p.k // b.depth)
        # One product is a tile of rows and of columns, over one tile of the contraction.
        groups = ceil(b.column_tiles / BANKS)
        whole, again = self._matmul(b, False), self._matmul(b, True)
        product = (groups * whole + (b.column_tiles - groups) * again) / b.column_tiles
        evicted = self._eviction(b)
        last = depth_tiles - (steps - 1) * b.depth_tiles
        chains = (steps - 1) * _either(b.depth_tiles * product, evicted)
        chains += _either(last * product, evicted)
        engines = tiles * column_tiles * chains
        engines += tiles * panels * self._late(b, last * product * b.column_tiles)
        for side, extent in enumerate((p.m, p.n)):
            if p.across[side]:
                engines += self._transposing(b, side, extent) * steps
        engines += panels * blocks * steps * LOOP_NS
        load = self._step_dma(b)
        if steps > 1 and steps * blocks % 2 == 1 and panels > 1:
            engines += panels * load
        # Nothing overlaps the first loads where the engines bind, the last step where DMA does.
        first = load
        if b.ramp:  # as many products as all banks hold go on while pieces arrive
            held = self.machine.psum_banks * b.depth_tiles * product
            first -= min(held, load * (1 - 1 / PIECES)) / 2
        final = engines / (panels * blocks * steps)
        ends = 2 * self.machine.dma_fixed_ns + b.column_tiles * evicted
        dma = self._dma(b, panels, blocks, steps)
        return _either(engines + first, dma + final) + ends

    def _late(self, b: Blocking, tile_ns: float) -> float:
        """How long a tile of results waits for a buffer, of which each is in use from its first
        eviction until it is stored."""
        m = self.machine
        row = b.panel_columns * self.p.result.size
        stored = m.dma_fixed_ns + self._transfer(b.rows, row, m.dma_queue_descriptor_ns)
        stored += min(BANKS, b.column_tiles) * self._eviction(b)
        return max(0.0, stored / b.evicted - tile_ns)

    def _transposing(self, b: Blocking, side: int, extent: int) -> float:
        """Transposing what a step needs of a side, in all blocks of `extent`: tiles that are not
        there before it begins come as fast as one queue loads them."""
        block = b.block_rows if side == 0 else b.panel_columns
        tile = b.rows if side == 0 else self.machine.partitions
        size = self.p.loaded[side].size
        loaded = self._transfer(tile, b.block_depth * size, self.machine.dma_queue_descriptor_ns)
        loaded += self.machine.dma_issue_ns
        whole, rest = divmod(extent, block)
        total = 0.0
        for count, rows in ((whole, block), (1, rest)):
            tiles = ceil(rows / tile)
            each = b.depth_tiles * self._transpose(b)
            if not self._hidden(b):
                each = max(each, b.depth_tiles * self._copied(b))
            late = max(0, tiles - b.staged) * max(each, loaded)
            total += count * (min(tiles, b.staged) * each + late + (LOOP_NS if tiles else 0.0))
        return total

    def _hidden(self, b: Blocking) -> bool:
        """Whether what is transposed for a step is evicted during the products of another."""
        return self.p.k > b.block_depth

    def _step_dma(self, b: Blocking) -> float:
        """Loading for one step, by two queues at a time."""
        p = self.p
        sizes = [loaded.size for loaded in p.loaded]
        depth = min(b.block_depth, p.k)
        total = 0.0
        for side, extent in enumerate((min(b.block_rows, p.m), min(b.panel_columns, p.n))):
            rows, width = (extent, depth) if p.across[side] else (depth, extent)
            total += self._transfer(rows, width * sizes[side], self.machine.dma_descriptor_ns)
        return total

    def _dma(self, b: Blocking, panels: int, blocks: int, steps: int) -> float:
        """All transfers: those of each array on a queue of its own, together on all engines."""
        p, size = self.p, self.p.dtype.size
        depth = min(b.block_depth, p.k)
        arrays = [(p.m * panels, min(b.panel_columns, p.n) * p.result.size)]
        # The left side comes once for each panel, the right one once for each block of rows, or
        # once where a panel stays; what is transposed is put into HBM for the other times.
        for side, extent, block, count, times in (
            (0, p.m, b.block_rows, blocks, panels),
            (1, p.n, b.panel_columns, panels, blocks if steps > 1 else 1),
        ):
            if not p.across[side]:
                width = min(block, extent) * p.loaded[side].size
                arrays.append((times * p.k * count, width))
                continue
            arrays.append((extent * steps, depth * p.loaded[side].size))
            if times > 1:
                row = min(block, extent) * b.depth_tiles * size
                arrays.append((times * b.depth * count * steps, row))
        m = self.machine
        shared = sum(self._transfer(*array, m.dma_descriptor_ns) for array in arrays)
        alone = (self._transfer(*array, m.dma_queue_descriptor_ns) for array in arrays)
        return max(shared, *alone)

    def _transfer(self, rows: int, row_bytes: int, least_ns: float) -> float:
        """`rows` rows of that many bytes each, on all DMA engines."""
        m = self.machine
        pieces = ceil(row_bytes / m.dma_max_descriptor_bytes)
        each = max(least_ns, row_bytes / pieces / m.dma_engine_gbps)
        return rows * pieces * each / m.dma_engines

    # instructions

    def _matmul(self, b: Blocking, reuse: bool) -> float:
        return matmul_ns(self.machine, self.p.dtype, b.depth, b.rows, b.columns, reuse)

    def _transpose(self, b: Blocking) -> float:
        return transpose_ns(self.machine, self.p.dtype, b.rows, b.depth)

    def _copied(self, b: Blocking) -> float:
        """One tile's share of the eviction of transposed tiles, which fill a bank."""
        d = self.p.dtype
        count = max(1, min(b.depth_tiles, self.machine.psum_bank_bytes // d.size // b.rows))
        return eviction_ns(self.machine, d, b.depth, count * b.rows) / count

    def _eviction(self, b: Blocking) -> float:
        psum = pattern(Space.PSUM, DType.F32, b.rows, b.columns)
        total = pattern(Space.SBUF, DType.F32, b.rows, b.columns)
        params = {"op": int(AluOp.ADD)}
        return issue_ns(self.machine, "tensor_tensor", Engine.DVE, total, [psum, total], params)


def _either(a: float, b: float) -> float:
    """The time of two that go on at once, a smooth maximum."""
    return float((a**SHARPNESS + b**SHARPNESS) ** (1 / SHARPNESS))
