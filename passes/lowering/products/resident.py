"""Lower dots of arrays in HBM whose right panel stays in SBUF for all rows.

Sums are complete when they leave PSUM. The next block of rows is transposed before the dots of the
current one, so that PE waits for no eviction. The panel takes longest to load. The first rows
therefore start with a few columns, as soon as the first tiles of the contraction have arrived:
about as many dots as PE can compute meanwhile (`Blocking.begin`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from xdsl.ir import SSAValue

from neuronir.passes.lowering.products.block_product import BlockProduct, even
from neuronir.passes.lowering.products.blocking import BANKS, BEGIN_TILES, Begin
from neuronir.passes.lowering.products.places import Held, Part, Place, spans


class Resident(BlockProduct):
    """A dot of one step."""

    def emit(self) -> None:
        """Emit the whole dot."""
        apart = self.b.begin is not None or (self.left.matrix.transposed and self.right.blocks > 1)
        self.panels(apart, 2, self._panel)

    def _panel(self, n: Place, columns: int, first: bool) -> None:
        """Emit all rows of a panel of columns; `first` if the left operand is loaded for the first
        time.
        """
        begin = self.b.begin if first else None
        done = 0 if begin is None else begin.tiles * self.b.rows
        if begin is None:
            self.bring(self.right, n, columns, Place(), self.p.k, True)
            begun = []
        else:
            begun = self._begin(n, columns, begin)
        tiles = self.tiles(self.p.k)

        block = self.left.block

        held = Held(self.left.buffers[0], block)

        def bring(m: Place, rows: int, shared: int) -> Held:
            size = self.p.k
            return self.bring(self.left, m, rows, Place(), size, first, shared=shared)

        def products(m: Place, rows: int, following: tuple[Place, int] | None = None) -> None:
            nonlocal held
            part = Part(m, rows, n, columns, held, self.right.held())

            def halfway() -> None:
                nonlocal held
                if following is not None:
                    held = bring(*following, self.b.shared)

            self.tile(part, Place(), min(rows, self.b.rows), tiles, True, True, halfway)
            self.products(part, tiles, True, True, self.b.rows)

        places = [
            (done + span.first + i * span.size, span.size)
            for span in spans(self.p.m - done, block)
            for i in range(span.count)
        ]
        if places:
            # DVE takes long: avoid it for the very first block, which nothing overlaps.
            held = bring(Place(places[0][0]), places[0][1], self.b.shared if begun else 0)
        if begin is not None:
            self._rest(begun, begin)
        if not places:
            return
        alike = sum(rows == block for _, rows in places[1:])
        self.repeat(
            Place(done + block),
            block,
            alike,
            2,
            lambda at, rows: products(at.plus(-block), block, (at, rows)),
        )
        for (at, rows), following in pairwise(places[alike:]):
            products(Place(at), rows, (Place(following[0]), following[1]))
        at, rows = places[-1]
        if self.b.begin is not None and n == Place(self.p.n - columns):
            # PE is the bound, so the store of the last tile is all that remains.
            self._last(Part(Place(at), rows, n, columns, held, self.right.held()))
        else:
            products(Place(at), rows)

    def _last(self, part: Part) -> None:
        """Emit the very last block of rows.

        The columns of its last tile are computed in two halves. The first half is evicted and
        stored while PE computes the second half.
        """
        tiles, rows = self.tiles(self.p.k), self.b.rows
        low = (part.rows - 1) // rows * rows
        self.products(part, tiles, True, True, 0, low)
        left = replace(part.left, low=part.left.low + low)
        last = replace(part, row=part.row.plus(low), rows=part.rows - low, left=left)
        cuts = self.cuts(last)
        for group in even(cuts, min(self.b.reuse, -(-len(cuts) // 2))):
            self._batch([last], group)

    def _begin(self, n: Place, columns: int, begin: Begin) -> list[Part]:
        """Emit the first tiles of rows with the first columns, and load what the other columns
        need.
        """
        right = self.right.turn()
        parts = self._first_parts(n, columns, begin, right)
        cuts = self.cuts(parts[0])
        now, others = cuts[: begin.columns], cuts[begin.columns :]
        self._together_as_they_come(parts[: begin.rows], now)
        if others:
            low = others[0][0]
            self.load(self.right, right, n.plus(low), columns - low, Place(), self.p.k, low)
        for i, part in enumerate(parts[begin.rows :]):
            if self.left.matrix.transposed:  # not by DVE, which takes long
                staged = self.staged[i]
                self.stage_part(self.left, staged, part.row, part.rows, Place(), self.p.k)
                self.transpose(self.left, part.left, Place(), part.rows, staged, self.p.k, 0)
            self._batch([part], now)
        if self.left.packed is not None:
            for part in parts:
                for memory, chip in self.packed(
                    self.left, part.left, part.row, part.rows, Place(), self.p.k
                ):
                    self.emitter.dma(memory, chip)
        return parts

    def _first_parts(self, n: Place, columns: int, begin: Begin, right: Held) -> list[Part]:
        """Return buffers of the first tiles of rows: one if they are loaded together, else one
        each.
        """
        rows, tiles = self.b.rows, self.b.depth_tiles
        count = 1 if self.left.matrix.transposed else begin.tiles
        buffers = [
            self.emitter.sbuf(self.b.depth, tiles * count * rows, self.p.dtype)
            for _ in range(begin.tiles // count)
        ]
        return [
            Part(
                Place(i * rows),
                rows,
                n,
                columns,
                Held(buffers[i // count], count * rows, i % count * rows),
                right,
            )
            for i in range(begin.tiles)
        ]

    def _together_as_they_come(
        self, parts: Sequence[Part], cuts: Sequence[tuple[int, int]]
    ) -> None:
        """Emit the dots of several tiles of rows, one contraction tile at a time as it is
        loaded.
        """
        wide = sum(size for _, size in cuts)
        banks = [[self.emitter.psum(self.b.rows, self.b.columns) for _ in cuts] for _ in parts]
        pieces = self._pieces()
        order = [(i, j) for i in range(len(pieces)) for j in range(len(parts))]
        brought = 0
        for i, (first, number, depth) in enumerate(pieces):
            for k in range(first, first + number):
                for j, part in enumerate(parts):
                    # One more, so that PE does not wait for its eviction.
                    wanted = i * len(parts) + j + 2
                    for piece, which in order[brought:wanted]:
                        self._bring_piece(parts, which, piece, pieces[piece], wide)
                    brought = max(brought, wanted)
                    self.multiply(part, Place(), part.rows, banks[j], cuts, Place(k), depth, k == 0)
        for part, row in zip(parts, banks, strict=True):
            self._end(part, row, cuts)

    def _bring_piece(
        self,
        parts: Sequence[Part],
        which: int,
        turn: int,
        piece: tuple[int, int, int],
        columns: int,
    ) -> None:
        """Load a part of the contraction of a tile of rows and, with the first one, of columns."""
        first, number, depth = piece
        part = parts[which]
        if which == 0:
            for k in range(first, first + number):
                self.load_tiles(
                    self.right, part.right, part.column, columns, Place(), (k, 1, depth)
                )
            if not self.left.matrix.transposed:
                width = part.left.width
                self.load_tiles(self.left, part.left, part.row, width, Place(), piece)
        if self.left.matrix.transposed:
            self._transpose_piece(self.staged[which], turn, part, piece)

    def _pieces(self) -> list[tuple[int, int, int]]:
        """Return (first tile, tiles, their depth) of the contraction in the initial loads: few at
        first.
        """
        out = []
        for span in spans(self.p.k, self.b.depth):
            first, low = span.first // self.b.depth, 0
            while low < span.count:
                most = BEGIN_TILES - low % BEGIN_TILES if low else BEGIN_TILES // 4
                count = min(most, span.count - low)
                out.append((first + low, count, span.size))
                low += count
        return out

    def _transpose_piece(
        self, staged: SSAValue, turn: int, part: Part, piece: tuple[int, int, int]
    ) -> None:
        """Load and transpose a part of a tile of rows.

        Two parts of the buffer alternate, so that later parts do not delay the panel.
        """
        first, number, depth = piece
        where = turn % 2 * BEGIN_TILES
        if (where + number) * self.b.depth > self.b.block_depth:
            where = 0
        k, size = Place(first * self.b.depth), number * depth
        low = where * self.b.depth
        self.stage_part(self.left, staged, part.row, part.rows, k, size, low)
        special = self.special[self.left.matrix]
        transpose = self.transpose_on_dve if special else self.transpose_on_pe
        transpose(part.left, Place(), part.rows, staged, piece, where)

    def _rest(self, parts: Sequence[Part], begin: Begin) -> None:
        """Emit the other columns of the first rows, as many at once as all banks hold.

        These columns are still being loaded, too.
        """
        for group in even(self.cuts(parts[0])[begin.columns :], BANKS):
            most = self.state.machine.psum_banks // len(group)
            for low in range(0, len(parts), most):
                self._batch(parts[low : low + most], group)

    def _batch(self, parts: Sequence[Part], cuts: Sequence[tuple[int, int]]) -> None:
        """Emit the dots of some tiles of rows and columns, one contraction tile at a time."""
        banks = [[self.emitter.psum(self.b.rows, self.b.columns) for _ in cuts] for _ in parts]

        def multiply(k: Place, depth: int, first: bool) -> None:
            for part, row in zip(parts, banks, strict=True):
                self.multiply(part, Place(), part.rows, row, cuts, k, depth, first)

        self.along(self.tiles(self.p.k), multiply, True, True)
        for part, row in zip(parts, banks, strict=True):
            self._end(part, row, cuts)

    def _end(self, part: Part, banks: Sequence[SSAValue], cuts: Sequence[tuple[int, int]]) -> None:
        """Evict and store some columns of a tile of results."""
        out = self.result_buffer()
        self.evict_row(banks, Place(), part.rows, cuts, out, True)
        low = cuts[0][0]
        self.store(part, Place(), part.rows, out, low, cuts[-1][0] + cuts[-1][1] - low)
