"""Products of arrays in HBM, block by block.

A step multiplies a block of rows with a panel of columns over a block of the contraction. Sums of
several steps are kept in SBUF in fp32. Two buffers take turns for each side, so that what the next
step needs is there in time. A side whose contraction lies along its rows is transposed by PE the
first time; where it is needed again it is put into HBM as the steps load it.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.products.blocking import (
    PIECES,
    Blocking,
    Problem,
    choose,
)
from neuronir.passes.lowering.products.matrices import Matrix, matrices_of, problem_of
from neuronir.passes.lowering.products.places import Part, Place, Side, spans
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.streaming.loop_op import make_loop
from neuronir.passes.statistics import record


def lower_blocked(state: Lowering, op: DotOp, target: Form) -> None:
    """Emit a product of two matrices (matrices.py) into `target`, which lies in HBM."""
    operands, result = matrices_of(state, op, target)
    problem = problem_of(op, (operands[0].across, operands[1].across))
    plan = choose(problem, state.machine, state.blocks)
    assert plan is not None  # a smaller product than any that is tried first
    special = tuple(state.value(v).may_be_special() for v in op.operands)
    name = f"{problem.m}x{problem.k}x{problem.n}"
    shape = f"{plan.block_rows}x{plan.block_depth}x{plan.panel_columns}"
    record("lower-hlo-to-nc", f"products {name} in blocks of {shape}")
    record("lower-hlo-to-nc", f"products {name}: estimated ns", round(plan.ns))
    record("lower-hlo-to-nc", f"products {name}: least ns", round(plan.least_ns))
    Blocked(state, problem, plan, operands, result, special).emit()


class Blocked:
    """Emits one product."""

    def __init__(
        self,
        state: Lowering,
        problem: Problem,
        plan: Blocking,
        operands: Sequence[Matrix],
        result: Matrix,
        special: Sequence[bool],
    ) -> None:
        self.state = state
        self.emitter = state.emitter
        self.p = problem
        self.b = plan
        self.result = result
        self.special = dict(zip(operands, special, strict=True))
        self.steps = -(-problem.k // plan.block_depth)
        limit = state.machine.partitions
        made = []
        for matrix, extent, block, tile, copies in (
            (operands[0], problem.m, plan.block_rows, plan.rows, plan.copies(problem)[0]),
            (operands[1], problem.n, plan.panel_columns, limit, plan.copies(problem)[1]),
        ):
            block = min(block, extent)
            size = plan.depth_tiles * block
            buffers = [self.emitter.sbuf(plan.depth, size, problem.dtype) for _ in range(copies)]
            made.append(Side(matrix, extent, block, min(tile, block), buffers))
        self.left, self.right = made
        self.sums: SSAValue | None = None
        if self.steps > 1:
            tiles = -(-self.left.block // plan.rows)
            self.sums = self.emitter.sbuf(plan.rows, tiles * self.right.block, DType.F32)
        self.out = [
            self.emitter.sbuf(plan.rows, self.right.block, problem.result)
            for _ in range(plan.evicted)
        ]
        self.staged: list[SSAValue] = []
        if any(problem.across):
            rows = max(side.tile for side in made if side.matrix.across)
            width = min(plan.block_depth, problem.k)
            self.staged = [
                self.emitter.sbuf(rows, width, problem.dtype) for _ in range(plan.staged)
            ]
        self.turn = 0  # of the buffers of staged rows

    def emit(self) -> None:
        """The whole product."""
        for side, times in ((self.left, self.right.blocks), (self.right, self._right_loads())):
            if side.matrix.across and times > 1:
                shape = [side.blocks, self.steps, self.b.depth, self.b.depth_tiles * side.block]
                side.packed = self.emitter.variable("packed", "scratch", shape, self.p.dtype)
        apart = self.b.ramp or (self.left.matrix.across and self.right.blocks > 1)
        turns = self.steps == 1 or self.steps * self.left.blocks % 2 == 1
        for span in spans(self.p.n, self.right.block):
            place, count = Place(span.first), span.count
            if apart and span.first == 0:
                self._panel(place, span.size, True)
                place, count = place.plus(span.size), count - 1
            self._repeat(
                place, span.size, count, 1 + turns, lambda at, n: self._panel(at, n, not apart)
            )

    def _right_loads(self) -> int:
        """How often each block of the right side is brought in."""
        return self.left.blocks if self.steps > 1 else 1

    def _repeat(
        self,
        place: Place,
        size: int,
        count: int,
        unit: int,
        body: Callable[[Place, int], None],
    ) -> None:
        """`body` at `count` places `size` apart, `unit` times in each round of a loop, after which
        the same buffers have their turn again."""
        rounds = count // unit
        if rounds > 1:
            block = Block(arg_types=[IndexType()])
            self.emitter.enter()
            inner = Place(place.first, (*place.terms, (block.args[0], size * unit)))
            for i in range(unit):
                body(inner.plus(i * size), size)
            make_loop(self.emitter, rounds, block, rolled=True)
        for i in range(rounds * unit if rounds > 1 else 0, count):
            body(place.plus(i * size), size)

    def _panel(self, n: Place, columns: int, first: bool) -> None:
        """All rows of a panel of columns; `first` where the left side comes for the first time."""
        if self.steps == 1:
            self._bring(self.right, n, columns, Place(), self.p.k, True)
        apart = self.right.matrix.across and self.steps > 1
        for span in spans(self.p.m, self.left.block):
            at, count = Place(span.first), span.count
            if (apart or (self.b.ramp and first)) and span.first == 0:
                self._rows(n, columns, at, span.size, first, True, self.b.ramp and first)
                at, count = at.plus(span.size), count - 1
            self._repeat(
                at,
                span.size,
                count,
                1 + self.steps % 2,
                lambda m, rows: self._rows(n, columns, m, rows, first, not apart, False),
            )

    def _rows(
        self,
        n: Place,
        columns: int,
        m: Place,
        rows: int,
        first_left: bool,
        first_right: bool,
        ramp: bool,
    ) -> None:
        """A block of rows of a panel: all steps of the contraction, each of which begins with
        bringing in what the next one needs."""
        depth, steps = self.b.block_depth, self.steps
        last = self.p.k - (steps - 1) * depth

        def bring(at: Place, size: int, after: Callable[[int], None] | None = None) -> Part:
            if steps > 1:
                self._bring(self.right, n, columns, at, size, first_right)
            self._bring(self.left, m, rows, at, size, first_left, after)
            return here()

        def here() -> Part:
            left, right = (side.buffers[side.current] for side in (self.left, self.right))
            return Part(m, rows, n, columns, left, right)

        tiles = self._tiles(min(depth, self.p.k))
        begun = self._at_once(rows, columns) if ramp else 0

        def first(there: int) -> None:
            if there == begun > 0:
                self._first(here(), begun, tiles, steps == 1)

        held = bring(Place(), min(depth, self.p.k), first)
        if not self.left.matrix.across:
            first(begun)
        if steps == 1:
            self._products(held, tiles, True, True, begun)
            return
        # What the second step needs comes in the middle of the first, what the others need before
        # the products of the one before: it is loaded and evicted meanwhile.
        half = max(begun, -(-rows // self.b.rows) // 2 * self.b.rows)
        now = held
        self._products(now, tiles, True, False, begun, half)
        held = bring(Place(depth), depth if steps > 2 else last)
        self._products(now, tiles, True, False, half)

        def step(following: Place, size: int) -> None:
            nonlocal held
            now, held = held, bring(following, size)
            self._products(now, self._tiles(depth), False, False)

        if steps > 2:
            full = steps - 2 if last == depth else steps - 3
            self._repeat(Place(2 * depth), depth, full, 2, step)
            if last != depth:
                step(Place((steps - 1) * depth), last)
        self._products(held, self._tiles(last), False, True)

    def _tiles(self, size: int) -> list[tuple[int, int]]:
        """(number, depth) of the tiles of `size` of the contraction."""
        return [
            (s.first // self.b.depth + i, s.size)
            for s in spans(size, self.b.depth)
            for i in range(s.count)
        ]

    # loading

    def _bring(
        self,
        side: Side,
        at: Place,
        width: int,
        k: Place,
        size: int,
        first: bool,
        after: Callable[[int], None] | None = None,
    ) -> None:
        """The next block of a side, into the buffer whose turn it is; `after` is called with the
        rows that are there, tile by tile, while PE transposes them."""
        side.current = (side.current + 1) % len(side.buffers)
        if not side.matrix.across:
            self._load(side, at, width, k, size)
            return
        if first:
            self._transposed(side, at, width, k, size, after)
        if side.packed is None:
            return
        for memory, chip in self._packed(side, at, width, k, size):
            self.emitter.dma(*((memory, chip) if first else (chip, memory)))

    def _load(self, side: Side, at: Place, width: int, k: Place, size: int) -> None:
        """From an array whose rows lie along the free dimension."""
        matrix, b = side.matrix, self.b
        for span in spans(size, b.depth):
            pieces = min(PIECES, span.count)
            for i in range(pieces):
                low, high = span.count * i // pieces, span.count * (i + 1) // pieces
                first = span.first + low * b.depth
                chip = self._chip(side, first // b.depth, high - low, span.size, width)
                where = at.times(matrix.free).add(k.plus(first).times(matrix.depth))
                free = _dims((b.depth * matrix.depth, high - low), (matrix.free, width))
                self.emitter.dma(chip, _rows_of(matrix, where, span.size, matrix.depth, free))

    def _chip(self, side: Side, tile: int, count: int, depth: int, width: int) -> View:
        """`count` tiles of the contraction of a block, in its buffer."""
        free = _dims((side.block, count), (1, width))
        return View(side.buffers[side.current], 0, depth, free, tile * side.block)

    def _packed(
        self, side: Side, at: Place, width: int, k: Place, size: int
    ) -> list[tuple[View, View]]:
        """(in HBM, on the chip) of a block that has been transposed."""
        assert side.packed is not None
        row = self.b.depth_tiles * side.block
        block = self.b.depth * row
        where = at.over(side.block).times(self.steps * block)
        where = where.add(k.over(self.b.block_depth).times(block))
        out = []
        for span in spans(size, self.b.depth):
            tile = span.first // self.b.depth
            chip = self._chip(side, tile, span.count, span.size, width)
            begin = where.plus(tile * side.block)
            memory = View(side.packed, 0, span.size, chip.free, begin.first, begin.terms, row)
            out.append((memory, chip))
        return out

    def _transposed(
        self,
        side: Side,
        at: Place,
        width: int,
        k: Place,
        size: int,
        after: Callable[[int], None] | None,
    ) -> None:
        """From an array whose rows lie along the contraction: tiles of rows, which PE transposes
        into the buffer."""
        for span in spans(width, side.tile):
            for i in range(span.count):  # no loop: the first rows are loaded during the last step
                t = Place(span.first + i * span.size)
                self._transpose(side, at, t, span.size, k, size)
                if after is not None:
                    after(t.first + span.size)

    def _transpose(self, side: Side, at: Place, t: Place, rows: int, k: Place, size: int) -> None:
        emitter, matrix, dtype = self.emitter, side.matrix, self.p.dtype
        self.turn = (self.turn + 1) % len(self.staged)
        staged = self.staged[self.turn]
        where = at.add(t).times(matrix.free).add(k.times(matrix.depth))
        emitter.dma(
            View(staged, 0, rows, ((1, size),)),
            _rows_of(matrix, where, rows, matrix.free, ((matrix.depth, size),)),
        )
        most = max(1, self.state.machine.psum_bank_bytes // dtype.size // rows)
        if self.special[matrix]:
            most = 1
        for span in spans(size, self.b.depth):
            first = span.first // self.b.depth
            for low in range(first, first + span.count, most):
                n = min(most, first + span.count - low)
                block = self._chip(side, low, n, span.size, rows)
                target = View(
                    block.buffer, 0, span.size, block.free, block.offset + t.first, t.terms
                )
                sources = [
                    View(staged, 0, rows, ((1, span.size),), (low + i) * self.b.depth)
                    for i in range(n)
                ]
                if self.special[matrix]:
                    self.state.converter.transpose_blocks(target, sources[0], span.size, rows)
                    continue
                bank = emitter.psum(span.size, n * rows, dtype)
                for i, source in enumerate(sources):
                    out = View(bank, 0, span.size, ((1, rows),), i * rows)
                    emitter.emit("transpose", [out], [source], {}, Engine.PE)
                bank_view = View(bank, 0, span.size, _like(target.free))
                emitter.copy(target, bank_view, Engine.ACT)

    # computing

    def _products(
        self,
        part: Part,
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        end: bool,
        low: int = 0,
        high: int | None = None,
    ) -> None:
        """The products of a step over `tiles` of its contraction, tile by tile of its rows `low` to
        `high`; `begin` and `end` say whether the sums begin and end with it."""
        for span in spans((part.rows if high is None else high) - low, self.b.rows):
            self._repeat(
                Place(low + span.first),
                span.size,
                span.count,
                self.b.evicted if end else 2,  # buffers of results and groups of banks take turns
                lambda t, rows: self._tile(part, t, rows, tiles, begin, end),
            )

    def _at_once(self, rows: int, columns: int) -> int:
        """Rows in as many tiles as all banks hold, for all columns of a panel."""
        room = self.state.machine.psum_banks // -(-columns // self.b.columns)
        return min(room, rows // self.b.rows) * self.b.rows

    def _first(self, part: Part, rows: int, tiles: Sequence[tuple[int, int]], end: bool) -> None:
        """The products of the first `rows` together, while the pieces of the first step arrive one
        after the other."""
        heights = [(Place(low), self.b.rows) for low in range(0, rows, self.b.rows)]
        self._together(part, heights, self._cuts(part), tiles, True, end)
        if end:
            for t, height in heights:
                self._store(part, t, height)

    def _cuts(self, part: Part) -> list[tuple[int, int]]:
        """(first column, columns) of the tiles of columns."""
        return [
            (s.first + i * s.size, s.size)
            for s in spans(part.columns, self.b.columns)
            for i in range(s.count)
        ]

    def _tile(
        self,
        part: Part,
        t: Place,
        rows: int,
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        end: bool,
    ) -> None:
        """One tile of rows for all columns of the panel."""
        cuts = self._cuts(part)
        groups = -(-len(cuts) // self.b.reuse)
        for g in range(groups):
            group = cuts[len(cuts) * g // groups : len(cuts) * (g + 1) // groups]
            self._together(part, [(t, rows)], group, tiles, begin, end)
        if end:
            self._store(part, t, rows)

    def _together(
        self,
        part: Part,
        heights: Sequence[tuple[Place, int]],
        cuts: Sequence[tuple[int, int]],
        tiles: Sequence[tuple[int, int]],
        begin: bool,
        end: bool,
    ) -> None:
        """Results that take a bank each, of tiles of rows and tiles of columns, summed up over
        tiles of the contraction; each stationary serves all tiles of columns."""
        emitter, b = self.emitter, self.b
        banks = [[emitter.psum(b.rows, b.columns) for _ in cuts] for _ in heights]
        for i, (number, depth) in enumerate(tiles):
            for (t, rows), row in zip(heights, banks, strict=True):
                first = number * self.left.block + t.first
                stationary = View(part.left, 0, depth, ((1, rows),), first, t.terms)
                for bank, (low, width) in zip(row, cuts, strict=True):
                    at = number * self.right.block + low
                    moving = View(part.right, 0, depth, ((1, width),), at)
                    emitter.matmul(View(bank, 0, rows, ((1, width),)), stationary, moving, i > 0)
        for (t, rows), row in zip(heights, banks, strict=True):
            out = self._out(t) if end else None
            for bank, (low, width) in zip(row, cuts, strict=True):
                self._evict(View(bank, 0, rows, ((1, width),)), t, low, out, begin)

    def _out(self, t: Place) -> SSAValue:
        """The buffer of a tile of results: tiles that follow each other take turns."""
        return self.out[t.first // self.b.rows % self.b.evicted]

    def _store(self, part: Part, t: Place, rows: int) -> None:
        """Write a tile of results to HBM."""
        where = part.row.add(t).times(self.result.free)
        where = where.add(part.column.times(self.result.depth))
        free = ((self.result.depth, part.columns),)
        self.emitter.dma(
            _rows_of(self.result, where, rows, self.result.free, free),
            View(self._out(t), 0, rows, ((1, part.columns),)),
        )

    def _evict(self, bank: View, t: Place, low: int, out: SSAValue | None, begin: bool) -> None:
        """Add a bank to the sums, or begin or end them with it."""
        total = None
        if self.sums is not None:
            where = t.over(self.b.rows).times(self.right.block).plus(low)
            total = View(self.sums, 0, bank.partitions, bank.free, where.first, where.terms)
        target = total if out is None else View(out, 0, bank.partitions, bank.free, low)
        assert target is not None
        if begin:
            self.emitter.copy(target, bank)
        else:
            assert total is not None
            self.emitter.tensor_tensor(AluOp.ADD, target, bank, total)


def _rows_of(
    matrix: Matrix, at: Place, rows: int, step: int, free: tuple[tuple[int, int], ...]
) -> View:
    """`rows` rows of a matrix in HBM, `step` elements apart."""
    terms = (*at.terms, *matrix.terms)
    return View(matrix.buffer, 0, rows, free, matrix.offset + at.first, terms, step)


def _dims(outer: tuple[int, int], inner: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Two (stride, size) dims, one where they go on."""
    if outer[1] == 1:
        return (inner,)
    if outer[0] == inner[0] * inner[1]:
        return ((inner[0], outer[1] * inner[1]),)
    return (outer, inner)


def _like(free: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The dims of consecutive elements, of the sizes of others."""
    step = 1
    out: list[tuple[int, int]] = []
    for _, size in reversed(free):
        out.insert(0, (step, size))
        step *= size
    return tuple(out)
