"""Emit the parts of a blocked dot: panels, dots of blocks in SBUF, eviction and stores."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.products.block_loads import BlockLoads, in_pieces, rows_of
from neuronir.passes.lowering.products.blocking import Blocking, Problem
from neuronir.passes.lowering.products.matrices import Matrix
from neuronir.passes.lowering.products.places import Part, Place, spans
from neuronir.passes.lowering.state import Lowering


class BlockProduct(BlockLoads):
    """Emits one dot."""

    def __init__(
        self,
        state: Lowering,
        problem: Problem,
        plan: Blocking,
        operands: Sequence[Matrix],
        result: Matrix,
        special: Sequence[bool],
    ) -> None:
        super().__init__(state, problem, plan, operands, special)
        self.result = result
        self.sums: SSAValue | None = None
        if self.steps > 1:
            tiles = -(-self.left.block // plan.rows)
            self.sums = self.emitter.sbuf(plan.rows, tiles * self.right.block, DType.F32)
        self.out = [
            self.emitter.sbuf(plan.rows, self.right.block, problem.result)
            for _ in range(plan.evicted)
        ]
        self.out_turn = 0

    @abstractmethod
    def emit(self) -> None:
        """Emit the whole dot."""

    def panels(self, apart: bool, unit: int, panel: Callable[[Place, int, bool], None]) -> None:
        """Emit all panels of columns: call `panel(first column, columns, whether it is the first)`.

        With `apart`, the first panel is emitted outside the loop over panels.
        """
        for side, times in ((self.left, self.right.blocks), (self.right, self.right_loads())):
            if side.matrix.transposed and times > 1:
                shape = [side.blocks, self.steps, self.b.depth, self.b.depth_tiles * side.block]
                side.packed = self.emitter.variable("packed", "scratch", shape, self.p.dtype)
        for span in spans(self.p.n, self.right.block):
            place, count = Place(span.first), span.count
            if apart and span.first == 0:
                panel(place, span.size, True)
                place, count = place.plus(span.size), count - 1
            self.repeat(place, span.size, count, unit, lambda at, n: panel(at, n, not apart))

    def right_loads(self) -> int:
        """Return how often each block of the right operand is loaded."""
        return self.left.blocks if self.steps > 1 else 1

    def cuts(self, part: Part) -> list[tuple[int, int]]:
        """Return the first column and the number of columns of each tile."""
        return [
            (s.first + i * s.size, s.size)
            for s in spans(part.columns, self.b.columns)
            for i in range(s.count)
        ]

    def products(
        self,
        part: Part,
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        end: bool,
        low: int = 0,
        high: int | None = None,
    ) -> None:
        """Emit the dots of a step over `tiles` of its contraction, for tiles `low` to `high` of its
        rows.

        `begin` and `end` tell whether the sums start and end with this step.
        """
        for span in spans((part.rows if high is None else high) - low, self.b.rows):
            self.repeat(
                Place(low + span.first),
                span.size,
                span.count,
                self.b.evicted if end else 2,  # buffers of results and groups of banks rotate
                lambda t, rows: self.tile(part, t, rows, tiles, begin, end),
            )

    def tile(
        self,
        part: Part,
        t: Place,
        rows: int,
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        end: bool,
        halfway: Callable[[], None] | None = None,
    ) -> None:
        """Emit a tile of rows for all columns of the panel; call `halfway` between its dots."""
        cuts = self.cuts(part)
        out = self.result_buffer() if end else None
        for i, group in enumerate(even(cuts, self.b.reuse)):
            call = halfway if i == 0 else None
            self.together(part, [(t, rows, out)], group, tiles, begin, call)
        if out is not None:
            self.store(part, t, rows, out)

    def result_buffer(self) -> SSAValue:
        """Return the next buffer for a tile of results."""
        self.out_turn = (self.out_turn + 1) % len(self.out)
        return self.out[self.out_turn]

    def together(
        self,
        part: Part,
        heights: Sequence[tuple[Place, int, SSAValue | None]],
        cuts: Sequence[tuple[int, int]],
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        halfway: Callable[[], None] | None = None,
    ) -> None:
        """Emit results that take one PSUM bank each, summed over tiles of the contraction.

        `heights` are the tiles of rows: first row, number of rows, and the result buffer if the
        sums end here. `cuts` are the tiles of columns. Each stationary operand is used for all of
        them.
        """
        banks = [[self.emitter.psum(self.b.rows, self.b.columns) for _ in cuts] for _ in heights]

        def multiply(k: Place, depth: int, first: bool) -> None:
            for (t, rows, _), row in zip(heights, banks, strict=True):
                self.multiply(part, t, rows, row, cuts, k, depth, first)

        half = len(tiles) // 2 if halfway is not None else 0
        self.along(tiles[:half], multiply, half > 0, False)
        if halfway is not None:
            halfway()
        self.along(tiles[half:], multiply, half == 0, True)
        for (t, rows, out), row in zip(heights, banks, strict=True):
            self.evict_row(row, t, rows, cuts, out, begin)

    def along(
        self,
        tiles: Sequence[tuple[int, int]],
        body: Callable[[Place, int, bool], None],
        begin: bool,
        end: bool,
    ) -> None:
        """Call `body(tile, depth, whether the sums start)` for the tiles of the contraction.

        `begin` and `end` tell whether the sums start and end with these tiles. The tiles form one
        loop. If there is a single step, its data is still being loaded: the tiles of each transfer
        then form a loop of their own, so that no iteration waits for another transfer. The first
        tile starts the sums, and after the last tile the banks are evicted one by one, so both are
        outside the loop.
        """
        last = len(tiles) - end
        inner = tiles[begin:last]
        for number, depth in tiles[:begin]:
            body(Place(number), depth, True)
        count = self.p.k // self.b.depth
        for low, high in in_pieces(count) if self.steps == 1 else [(0, count)]:
            some = [tile for tile in inner if low <= tile[0] < high]
            if some:
                self.repeat(
                    Place(some[0][0]), 1, len(some), 1, lambda k, _: body(k, self.b.depth, False)
                )
        for number, depth in tiles[begin + len(inner) :]:
            body(Place(number), depth, False)

    def multiply(
        self,
        part: Part,
        t: Place,
        rows: int,
        banks: Sequence[SSAValue],
        cuts: Sequence[tuple[int, int]],
        k: Place,
        depth: int,
        first: bool,
    ) -> None:
        """Add the products of one stationary operand to `banks`, or start the sums with them.

        The stationary operand is a tile of the contraction, `depth` rows deep.
        """
        at = k.times(part.left.width).add(t).plus(part.left.low)
        stationary = View(part.left.buffer, 0, depth, ((1, rows),), at.first, at.terms)
        for bank, (low, width) in zip(banks, cuts, strict=True):
            there = k.times(part.right.width).plus(part.right.low + low)
            moving = View(part.right.buffer, 0, depth, ((1, width),), there.first, there.terms)
            self.emitter.matmul(View(bank, 0, rows, ((1, width),)), stationary, moving, not first)

    def evict_row(
        self,
        banks: Sequence[SSAValue],
        t: Place,
        rows: int,
        cuts: Sequence[tuple[int, int]],
        out: SSAValue | None,
        begin: bool,
    ) -> None:
        """Add banks to the sums, or start or end the sums with them."""
        for bank, (low, width) in zip(banks, cuts, strict=True):
            source = View(bank, 0, rows, ((1, width),))
            total = None
            if self.sums is not None:
                where = t.over(self.b.rows).times(self.right.block).plus(low)
                total = View(self.sums, 0, rows, source.free, where.first, where.terms)
            target = total if out is None else View(out, 0, rows, source.free, low)
            assert target is not None
            if begin:
                self.emitter.copy(target, source, Engine.ACT if self.b.shared else None)
            else:
                assert total is not None
                self.emitter.tensor_tensor(AluOp.ADD, target, source, total)

    def store(
        self,
        part: Part,
        t: Place,
        rows: int,
        out: SSAValue,
        low: int = 0,
        columns: int | None = None,
    ) -> None:
        """Write `columns` columns of a tile of results, from column `low` on, to HBM."""
        columns = part.columns - low if columns is None else columns
        where = part.row.add(t).times(self.result.free)
        where = where.add(part.column.plus(low).times(self.result.depth))
        self.emitter.dma(
            rows_of(self.result, where, rows, self.result.free, ((self.result.depth, columns),)),
            View(out, 0, rows, ((1, columns),), low),
        )


def even(cuts: Sequence[tuple[int, int]], most: int) -> list[Sequence[tuple[int, int]]]:
    """Split `cuts` into groups of at most `most`, of sizes as equal as possible."""
    groups = -(-len(cuts) // most)
    return [cuts[len(cuts) * g // groups : len(cuts) * (g + 1) // groups] for g in range(groups)]
