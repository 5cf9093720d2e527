"""Estimate the time of a blocked dot in closed form.

For each step (a block of the contraction for a block of rows and a panel of columns), the estimate
adds the time of its busiest resource in the simulator's cost model. It includes only the waits
named below, and depends on sizes and types alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.conversion.transpose import DVE_BLOCK
from neuronir.passes.lowering.products.blocking import (
    BANKS,
    BEGIN_TILES,
    PIECES,
    Begin,
    Blocking,
    Problem,
)
from neuronir.passes.lowering.products.times import (
    block_transpose_ns,
    eviction_ns,
    matmul_ns,
    sum_ns,
    transpose_ns,
)

LEFT_BYTES = 1024
"""The fraction of each SBUF partition reserved for the rest of the program."""
SHARPNESS = 8
"""The overlap loss, relative to the maximum of two overlapping times: if they are equal, each waits
for the other at times, 9 % in total.
"""
LOOP_NS = 100.0
"""Between two loops PE waits for the first instructions of the second: a semaphore each way, the
latency of PE and that of an eviction.
"""
SHARE = 0.95
"""The fraction of PE time that DVE may use for transposes."""
MEETING = 1.2
"""The slowdown of initial loads: transfers of other queues delay those for which PE waits (assumed;
it fits a dozen dots).
"""
BANKS_APART = 2
"""The fraction of PSUM for transposes while sums use the rest."""


@dataclass(frozen=True)
class _Steps:
    """The parts of a dot of several steps, in ns.

    All dots with the delays by their evictions, one of them, the tiles of the contraction in the
    last step, one eviction, the loads of a step, and all transfers.
    """

    products: float
    product: float
    last: int
    evicted: float
    load: float
    dma: float


class Estimate:
    """Times in ns of the parts of a dot."""

    def __init__(self, problem: Problem, machine: Machine) -> None:
        self.p = problem
        self.machine = machine
        self._times: dict[tuple[object, ...], float] = {}
        self._known_steps: dict[tuple[int, int, int], _Steps] = {}  # by tiles

    def fits(self, b: Blocking) -> bool:
        """Return whether the buffers fit in SBUF."""
        p, size = self.p, self.p.dtype.size
        steps = b.counts(p)[2]
        left, right = b.copies(p)
        total = b.depth_tiles * (left * b.block_rows + right * b.panel_columns) * size
        if steps > 1:
            total += b.row_tiles * b.panel_columns * DType.F32.size
        total += b.evicted * b.panel_columns * p.result.size + b.staged * b.block_depth * size
        if b.begin is not None:
            total += b.depth_tiles * b.begin.tiles * b.rows * size
        return total + LEFT_BYTES <= self.machine.sbuf_usable_partition_bytes

    def least(self, b: Blocking) -> float:
        """Return the time of all dots at one column per cycle."""
        passes = self._matmul(b, True) * self.machine.pe_ghz
        passes /= b.columns + self.machine.matmul_overhead_cycles
        m, p = self.machine, self.p
        return passes * p.m * p.n * p.k / (m.pe_rows * m.pe_columns) / m.pe_ghz

    def total(self, b: Blocking) -> float:
        """Return the time of the whole dot."""
        return self._of_steps(b) if self.p.k > b.block_depth else self._resident(b)

    def at_least(self, b: Blocking) -> float:
        """Return a lower bound of `total` over all blockings with these tiles."""
        if self.p.k > b.block_depth:
            steps = self._steps(b)
            return _either(steps.products, steps.dma)
        tiles, panels = -(-self.p.m // b.rows), b.counts(self.p)[0]
        return tiles * panels * self._products_of_row(b)

    def _steps(self, b: Blocking) -> _Steps:
        """Return the costs that all blockings with the same tiles have in common."""
        if b.tiles in self._known_steps:
            return self._known_steps[b.tiles]
        p = self.p
        panels, blocks, steps = b.counts(p)
        tiles, column_tiles = -(-p.m // b.rows), -(-p.n // b.columns)
        # A product is a tile of rows and of columns, over one tile of the contraction.
        groups = ceil(b.column_tiles / BANKS)
        whole, again = self._matmul(b, False), self._matmul(b, True)
        product = (groups * whole + (b.column_tiles - groups) * again) / b.column_tiles
        evicted = self._eviction(b)
        last = -(-p.k // b.depth) - (steps - 1) * b.depth_tiles
        chains = (steps - 1) * _either(b.depth_tiles * product, evicted)
        chains += _either(last * product, evicted)
        products = tiles * column_tiles * chains
        load, dma = self._step_dma(b), self._dma(b, panels, blocks, steps)
        found = _Steps(products, product, last, evicted, load, dma)
        self._known_steps[b.tiles] = found
        return found

    def _of_steps(self, b: Blocking) -> float:
        """Return the time of a dot of several steps (blocked.py)."""
        p, known = self.p, self._steps(b)
        panels, blocks, steps = b.counts(p)
        late = self._late(b, known.last * known.product * b.column_tiles)
        engines = known.products + -(-p.m // b.rows) * panels * late
        for side, extent in enumerate((p.m, p.n)):
            if p.transposed[side]:
                engines += self._transposing(b, side, extent) * steps
        engines += panels * blocks * steps * LOOP_NS
        if steps * blocks % 2 == 1 and panels > 1:
            engines += panels * known.load
        # Nothing overlaps the first loads if the engines are the bound, or the last step if DMA is.
        first = known.load
        if b.ramp:  # as many dots as all banks hold continue while pieces arrive
            held = self.machine.psum_banks * b.depth_tiles * known.product
            first -= min(held, known.load * (1 - 1 / PIECES)) / 2
        final = engines / (panels * blocks * steps)
        ends = 2 * self.machine.dma_fixed_ns + b.column_tiles * known.evicted
        return _either(engines + first, known.dma + final) + ends

    def _resident(self, b: Blocking) -> float:
        """Return the time of a dot of one step (resident.py)."""
        p, m = self.p, self.machine
        panels, blocks, _ = b.counts(p)
        tiles = -(-p.m // b.rows)
        row = self._row(b)
        begun = b.begin.tiles if b.begin is not None else 0
        engines = (tiles * panels - begun) * (row + self._late(b, row))
        if p.transposed[0]:
            engines += (tiles - begun) * (b.depth_tiles - b.shared) * self._transpose(b)
        if p.transposed[1]:
            engines += self._transposing(b, 1, p.n)
        dma = self._dma(b, panels, blocks, 1)
        if b.begin is not None:  # nothing is stored until nearly all of that is done
            first = self._beginning(b, b.begin)
            dma -= self._loaded(b, b.begin)
        else:
            first = self._step_dma(b)
            dma -= first
            if not p.transposed[1]:  # staged data is loaded next to the panel
                panel = min(b.panel_columns, p.n) * p.loaded[1].size
                rows = min(p.m, (b.row_tiles + b.staged) * b.rows)
                width = p.loaded[0].size
                left = (rows, p.k * width) if p.transposed[0] else (p.k, rows * width)
                first = max(first, self._beside((p.k, panel), left))
        final = b.row_tiles * row
        ends = 2 * m.dma_fixed_ns + b.column_tiles * self._eviction(b)
        return first + _either(engines, dma + final) + ends

    def _row(self, b: Blocking) -> float:
        """Return the time of a tile of rows of a panel: dots or, if they take longer, evictions."""
        return _either(self._products_of_row(b), b.column_tiles * self._evicted_by_act(b))

    def _products_of_row(self, b: Blocking) -> float:
        """Return the time of the dots of a tile of rows and a panel."""
        return b.depth_tiles * self._group(b, b.column_tiles, ceil(b.column_tiles / BANKS))

    def _group(self, b: Blocking, columns: int, loads: int) -> float:
        """Return the time of the dots of a tile of rows and several tiles of columns.

        They cover one tile of the contraction, with the given number of stationary loads.
        """
        return loads * self._matmul(b, False) + (columns - loads) * self._matmul(b, True)

    def _beginning(self, b: Blocking, begin: Begin) -> float:
        """Return the time of all dots of the first rows, including the waits of PE."""
        p, turned = self.p, self.p.transposed[0]
        others = b.column_tiles - begin.columns
        loads = ceil(others / BANKS)
        transposed = self._transpose(b) if turned else 0.0
        sizes = [loaded.size for loaded in p.loaded]
        # Loads: the first rows of the left operand in pieces, the others whole.
        pieces = 1 + ceil((b.depth_tiles - 2) / BEGIN_TILES)
        rows, row = begin.rows * b.rows, b.rows * sizes[0] * begin.rows
        left = (rows * pieces, p.k * sizes[0] / pieces) if turned else (p.k, row)
        more = min(p.m - rows, (begin.more + begin.rows) * b.rows)  # staged data is loaded ahead
        following = (more, p.k * sizes[0]) if turned else (p.k, more * sizes[0])
        loaded = MEETING * self._beside((p.k, begin.columns * b.columns * sizes[1]), left)
        rest = 0.0
        if others:
            rest = MEETING * self._beside((p.k, others * b.columns * sizes[1]), following)
        # Dots: together, of more tiles of rows, and of the other columns.
        one = b.depth_tiles * (self._group(b, begin.columns, 1) + transposed)
        time = loaded / b.depth_tiles * min(2, b.depth_tiles)
        time += max(loaded, begin.rows * one) + begin.more * one
        time += max(0, begin.rows - b.evicted) * self._stored(b, begin.columns)
        if others:  # as columns arrive, they are used by as many tiles of rows as all banks hold
            wide = ceil(others / loads)
            batch = min(begin.tiles, self.machine.psum_banks // wide)
            group = b.depth_tiles * self._group(b, wide, 1)
            time = max(time + batch * group, loaded + rest)
            time += b.depth_tiles * begin.tiles * self._group(b, others, loads) - batch * group
        return time

    def _loaded(self, b: Blocking, begin: Begin) -> float:
        """Return the minimum DMA time of everything loaded until then."""
        p, least = self.p, self.machine.dma_descriptor_ns
        sizes = [loaded.size for loaded in p.loaded]
        rows = begin.tiles * b.rows
        array = (rows, p.k * sizes[0]) if p.transposed[0] else (p.k, rows * sizes[0])
        panel = self._transfer(p.k, min(b.panel_columns, p.n) * sizes[1], least)
        return panel + self._transfer(*array, least)

    def _beside(self, array: tuple[int, float], other: tuple[int, float]) -> float:
        """Return the time of (rows, bytes of each) next to others on another queue, which come
        first.

        Both queues have equal shares of the engines until one is done.
        """
        m = self.machine
        shared = self._transfer(*array, m.dma_descriptor_ns)
        alone = self._transfer(*array, m.dma_queue_descriptor_ns)
        beside = min(shared, self._transfer(*other, m.dma_descriptor_ns) if other[1] else 0.0)
        return 2 * beside + (shared - beside) * alone / shared

    def begin(self, b: Blocking) -> Begin | None:
        """Return the start with the least cost; None if there are too few rows."""
        p = self.p
        banks = self.machine.psum_banks - (BANKS_APART if p.transposed[0] else 0)
        tiles = p.m // b.rows
        if p.transposed[1] or not tiles:
            return None
        found = [
            Begin(rows, columns, more)
            for rows in range(1, min(banks, tiles) + 1)
            for columns in range(1, min(b.column_tiles, banks // rows) + 1)
            for more in range(min(rows, tiles - rows) + 1 if columns < b.column_tiles else 1)
        ]
        times = [self._beginning(b, x) - x.tiles * self._row(b) for x in found]
        return found[times.index(min(times))]

    def shared(self, b: Blocking) -> int:
        """Return how many contraction tiles DVE can transpose for each tile of rows.

        Meanwhile PE computes the dots of another tile and ACT evicts them.
        """
        if not self.p.transposed[0] or self.p.k > b.block_depth:
            return 0
        side = DVE_BLOCK
        each = self._known(block_transpose_ns, self.p.dtype, side)
        each *= ceil(b.rows / side) * ceil(b.depth / side)
        pe = self._transpose(b)
        row = self._products_of_row(b)
        act = b.column_tiles * self._evicted_by_act(b) + b.depth_tiles * self._copied(b)
        if act > SHARE * row:
            return 0
        return min(b.depth_tiles, int(SHARE * (row + b.depth_tiles * pe) / (each + SHARE * pe)))

    def _late(self, b: Blocking, tile_ns: float) -> float:
        """Return how long a tile of results waits for a buffer.

        A buffer is in use from its first eviction until it is stored.
        """
        stored = self._stored(b, b.column_tiles)
        stored += min(BANKS, b.column_tiles) * self._eviction(b)
        return max(0.0, stored / b.evicted - tile_ns)

    def _stored(self, b: Blocking, column_tiles: int) -> float:
        """Return the time to store a tile of results."""
        m, row = self.machine, b.columns * column_tiles * self.p.result.size
        return m.dma_fixed_ns + self._transfer(b.rows, row, m.dma_queue_descriptor_ns)

    def _transposing(self, b: Blocking, side: int, extent: int) -> float:
        """Return the time of the transposes of an operand for a step, in all blocks of `extent`.

        Tiles that are not loaded before arrive as fast as one queue loads them.
        """
        block = b.block_rows if side == 0 else b.panel_columns
        tile = b.rows if side == 0 else self.machine.partitions
        size = self.p.loaded[side].size
        loaded = self._transfer(tile, b.block_depth * size, self.machine.dma_queue_descriptor_ns)
        loaded += self.machine.dma_trigger_ns
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
        """Return whether transposed tiles of a step are evicted during the dots of another."""
        return self.p.k > b.block_depth

    def _step_dma(self, b: Blocking) -> float:
        """Return the load time of one step, with two queues at a time."""
        p = self.p
        sizes = [loaded.size for loaded in p.loaded]
        depth = min(b.block_depth, p.k)
        total = 0.0
        for side, extent in enumerate((min(b.block_rows, p.m), min(b.panel_columns, p.n))):
            rows, width = (extent, depth) if p.transposed[side] else (depth, extent)
            total += self._transfer(rows, width * sizes[side], self.machine.dma_descriptor_ns)
        return total

    def _dma(self, b: Blocking, panels: int, blocks: int, steps: int) -> float:
        """Return the time of all transfers: each array on its own queue, together on all
        engines.
        """
        p, size = self.p, self.p.dtype.size
        depth = min(b.block_depth, p.k)
        arrays = [(p.m * panels, min(b.panel_columns, p.n) * p.result.size)]
        # The left operand is loaded once for each panel, the right one once for each block of rows,
        # or once if a panel stays. Transposed data is stored to HBM for the other times.
        for side, extent, block, count, times in (
            (0, p.m, b.block_rows, blocks, panels),
            (1, p.n, b.panel_columns, panels, blocks if steps > 1 else 1),
        ):
            if not p.transposed[side]:
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

    def _transfer(self, rows: int, row_bytes: float, least_ns: float) -> float:
        """Return the time of `rows` rows of that many bytes, on all DMA engines."""
        m = self.machine
        pieces = max(1, ceil(row_bytes / m.dma_max_descriptor_bytes))
        each = max(least_ns, row_bytes / pieces / m.dma_engine_gbps)
        return rows * pieces * each / m.dma_engines

    # instructions

    def _matmul(self, b: Blocking, reuse: bool) -> float:
        return self._known(matmul_ns, self.p.dtype, b.depth, b.rows, b.columns, reuse)

    def _transpose(self, b: Blocking) -> float:
        return self._known(transpose_ns, self.p.dtype, b.rows, b.depth)

    def _copied(self, b: Blocking) -> float:
        """Return one tile's share of evicting transposed tiles, which fill a bank."""
        d = self.p.dtype
        count = max(1, min(b.depth_tiles, self.machine.psum_bank_bytes // d.size // b.rows))
        return self._known(eviction_ns, d, b.depth, count * b.rows) / count

    def _evicted_by_act(self, b: Blocking) -> float:
        """Return the eviction time of a tile of results that are not added to sums."""
        return self._known(eviction_ns, DType.F32, b.rows, b.columns)

    def _eviction(self, b: Blocking) -> float:
        return self._known(sum_ns, b.rows, b.columns)

    def _known(self, time: Callable[..., float], *sizes: object) -> float:
        """Return a time of times.py, cached."""
        key = (time, *sizes)
        if key not in self._times:
            self._times[key] = time(self.machine, *sizes)
        return self._times[key]


def _either(a: float, b: float) -> float:
    """Return the time of two overlapping activities: a smooth maximum."""
    return float((a**SHARPNESS + b**SHARPNESS) ** (1 / SHARPNESS))
