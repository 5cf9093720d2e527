"""Load blocks of the operands of a dot into SBUF.

An operand whose contraction is along its rows is transposed the first time. If it is needed again,
the transposed blocks are stored to HBM. PE transposes. If the plan says so, DVE transposes the
first tiles of the contraction, because PE must also compute the dots.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.products.blocking import PIECES, Blocking, Problem
from neuronir.passes.lowering.products.matrices import Matrix
from neuronir.passes.lowering.products.places import Held, Place, Side, spans
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.streaming.loop_op import make_loop


class BlockLoads:
    """Loads the blocks of one dot."""

    def __init__(
        self,
        state: Lowering,
        problem: Problem,
        plan: Blocking,
        operands: Sequence[Matrix],
        special: Sequence[bool],
    ) -> None:
        self.state = state
        self.emitter = state.emitter
        self.p = problem
        self.b = plan
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
        self.staged: list[SSAValue] = []
        if any(problem.transposed):
            rows = max(side.tile for side in made if side.matrix.transposed)
            width = min(plan.block_depth, problem.k)
            self.staged = [
                self.emitter.sbuf(rows, width, problem.dtype) for _ in range(plan.staged)
            ]
        self.staged_turn = 0

    def repeat(
        self,
        place: Place,
        size: int,
        count: int,
        unit: int,
        body: Callable[[Place, int], None],
    ) -> None:
        """Emit `body` at `count` positions `size` apart, `unit` per loop iteration.

        After `unit` positions, the same buffers are used again.
        """
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

    def tiles(self, size: int) -> list[tuple[int, int]]:
        """Return (number, depth) of the tiles of `size` of the contraction."""
        return [
            (s.first // self.b.depth + i, s.size)
            for s in spans(size, self.b.depth)
            for i in range(s.count)
        ]

    def bring(
        self,
        side: Side,
        at: Place,
        width: int,
        k: Place,
        size: int,
        first: bool,
        after: Callable[[int], None] | None = None,
        shared: int = 0,
    ) -> Held:
        """Load the next block of an operand into its next buffer.

        `after` is called with the available rows, tile by tile, while PE transposes them. DVE
        transposes the first `shared` tiles of the contraction.
        """
        held = side.turn()
        if not side.matrix.transposed:
            self.load(side, held, at, width, k, size)
            return held
        if first:
            for span in spans(width, side.tile):
                for i in range(span.count):  # no loop: the first rows arrive during the last step
                    t = Place(span.first + i * span.size)
                    staged = self.stage(side, at.add(t), span.size, k, size)
                    self.transpose(side, held, t, span.size, staged, size, shared)
                    if after is not None:
                        after(t.first + span.size)
        if side.packed is not None:
            for memory, chip in self.packed(side, held, at, width, k, size):
                self.emitter.dma(*((memory, chip) if first else (chip, memory)))
        return held

    def load(
        self, side: Side, held: Held, at: Place, width: int, k: Place, size: int, low: int = 0
    ) -> None:
        """Load rows along the free dimension to `low` elements on in each tile of a block.

        `k` is the position of the block and `size` the loaded part.
        """
        for span in spans(size, self.b.depth):
            first = span.first // self.b.depth
            for begin, end in in_pieces(span.count):
                tiles = (first + begin, end - begin, span.size)
                self.load_tiles(side, held, at, width, k, tiles, low)

    def load_tiles(
        self,
        side: Side,
        held: Held,
        at: Place,
        width: int,
        k: Place,
        tiles: tuple[int, int, int],
        low: int = 0,
    ) -> None:
        """Load `tiles`, (the first one, how many, their depth), in one transfer."""
        matrix, (tile, count, depth) = side.matrix, tiles
        chip = _chip(held, tile, count, depth, width, low)
        first = k.plus(tile * self.b.depth).times(matrix.depth)
        where = at.times(matrix.free).add(first)
        free = _dims((self.b.depth * matrix.depth, count), (matrix.free, width))
        self.emitter.dma(chip, rows_of(matrix, where, depth, matrix.depth, free))

    def packed(
        self, side: Side, held: Held, at: Place, width: int, k: Place, size: int
    ) -> list[tuple[View, View]]:
        """Return the (HBM, on-chip) accesses of a transposed block."""
        assert side.packed is not None
        row = self.b.depth_tiles * side.block
        block = self.b.depth * row
        where = at.over(side.block).times(self.steps * block)
        where = where.add(k.over(self.b.block_depth).times(block))
        out = []
        for span in spans(size, self.b.depth):
            tile = span.first // self.b.depth
            chip = _chip(held, tile, span.count, span.size, width)
            begin = where.plus(tile * side.block)
            free = _dims((side.block, span.count), (1, width))
            memory = View(side.packed, 0, span.size, free, begin.first, begin.terms, row)
            out.append((memory, chip))
        return out

    def stage(self, side: Side, at: Place, rows: int, k: Place, size: int) -> SSAValue:
        """Load rows of an array whose rows are along the contraction, to be transposed."""
        self.staged_turn = (self.staged_turn + 1) % len(self.staged)
        staged = self.staged[self.staged_turn]
        self.stage_part(side, staged, at, rows, k, size)
        return staged

    def stage_part(
        self,
        side: Side,
        staged: SSAValue,
        at: Place,
        rows: int,
        k: Place,
        size: int,
        low: int = 0,
    ) -> None:
        """Load `size` elements from `k` on of such rows, to `low` in the buffer."""
        matrix = side.matrix
        where = at.times(matrix.free).add(k.times(matrix.depth))
        self.emitter.dma(
            View(staged, 0, rows, ((1, size),), low),
            rows_of(matrix, where, rows, matrix.free, ((matrix.depth, size),)),
        )

    def transpose(
        self,
        side: Side,
        held: Held,
        t: Place,
        rows: int,
        staged: SSAValue,
        size: int,
        shared: int,
    ) -> None:
        """Transpose loaded rows to a block at `t`: the first `shared` tiles by DVE, the others by
        PE.
        """
        for span in spans(size, self.b.depth):
            first = span.first // self.b.depth
            part = max(0, min(shared - first, span.count))
            if self.special[side.matrix]:
                part = span.count  # PE would spoil the neighbours of infinities
            self.transpose_on_dve(held, t, rows, staged, (first, part, span.size), first)
            rest = (first + part, span.count - part, span.size)
            # Transposes of two operands alternate; those of one step are spread over the dots.
            rolled = self.steps > 1 and not all(self.p.transposed)
            self.transpose_on_pe(held, t, rows, staged, rest, first + part, rolled)

    def transpose_on_dve(
        self,
        held: Held,
        t: Place,
        rows: int,
        staged: SSAValue,
        tiles: tuple[int, int, int],
        source: int,
    ) -> None:
        """Transpose `tiles`, (the first one, how many, their depth), from tile `source` of `staged`
        on.
        """
        first, count, depth = tiles

        def tile(k: Place, _: int) -> None:
            there = k.times(held.width).add(t).plus(held.low)
            target = View(held.buffer, 0, depth, ((1, rows),), there.first, there.terms)
            here = k.plus(source - first).times(self.b.depth)
            block = View(staged, 0, rows, ((1, depth),), here.first, here.terms)
            self.state.converter.transpose_blocks(target, block, depth, rows)

        self.repeat(Place(first), 1, count, 1, tile)

    def transpose_on_pe(
        self,
        held: Held,
        t: Place,
        rows: int,
        staged: SSAValue,
        tiles: tuple[int, int, int],
        source: int,
        rolled: bool = False,
    ) -> None:
        """Transpose on PE, evicting by ACT; `rolled` in a loop for each bank."""
        emitter, dtype = self.emitter, self.p.dtype
        most = max(1, self.state.machine.psum_bank_bytes // dtype.size // rows)
        first, count, depth = tiles
        for low in range(0, count, most):
            n = min(most, count - low)
            block = _chip(held, first + low, n, depth, rows)
            target = View(block.buffer, 0, depth, block.free, block.offset + t.first, t.terms)
            bank = emitter.psum(depth, n * rows, dtype)
            begin = Place((source + low) * self.b.depth)

            def tile(i: Place, _: int, bank: SSAValue = bank, begin: Place = begin) -> None:
                there, here = i.times(rows), begin.add(i.times(self.b.depth))
                out = View(bank, 0, depth, ((1, rows),), there.first, there.terms)
                block = View(staged, 0, rows, ((1, depth),), here.first, here.terms)
                emitter.emit("transpose", [out], [block], {}, Engine.PE)

            if rolled:
                self.repeat(Place(), 1, n, 1, tile)
            else:
                for i in range(n):
                    tile(Place(i), 1)
            emitter.copy(target, View(bank, 0, depth, _like(target.free)), Engine.ACT)


def in_pieces(tiles: int) -> list[tuple[int, int]]:
    """Return (first, end) of the tiles of the contraction in each transfer of a block."""
    pieces = min(PIECES, tiles)
    return [(tiles * i // pieces, tiles * (i + 1) // pieces) for i in range(pieces)]


def _chip(held: Held, tile: int, count: int, depth: int, width: int, low: int = 0) -> View:
    """Return `count` tiles of the contraction of a block, in its buffer."""
    free = _dims((held.width, count), (1, width))
    return View(held.buffer, 0, depth, free, tile * held.width + held.low + low)


def rows_of(
    matrix: Matrix, at: Place, rows: int, step: int, free: tuple[tuple[int, int], ...]
) -> View:
    """Return `rows` rows of a matrix in HBM, `step` elements apart."""
    terms = (*at.terms, *matrix.terms)
    return View(matrix.buffer, 0, rows, free, matrix.offset + at.first, terms, step)


def _dims(outer: tuple[int, int], inner: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Return two (stride, size) dims, or one if they are contiguous."""
    if outer[1] == 1:
        return (inner,)
    if outer[0] == inner[0] * inner[1]:
        return ((inner[0], outer[1] * inner[1]),)
    return (outer, inner)


def _like(free: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the dims of consecutive elements, with given sizes."""
    step = 1
    out: list[tuple[int, int]] = []
    for _, size in reversed(free):
        out.insert(0, (step, size))
        step *= size
    return tuple(out)
