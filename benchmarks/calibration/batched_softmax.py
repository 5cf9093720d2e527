"""AccelOpt's softmax of a batched product, in fp32: most of the scores go to HBM and back."""

from benchmarks.calibration.builder import Index, Kernel, Tensor, Tile

BATCH, ROWS, COLUMNS, DEPTH = 16, 4096, 4096, 64
WIDE = 512
PIECES = COLUMNS // WIDE  # of a row tile
TILES = ROWS // 128
KEPT = 2  # pieces of each row tile that stay in SBUF, the last ones


def batched_softmax() -> Kernel:
    """softmax([16, 4096, 64] x [16, 64, 4096]) over the last dimension.

    Products go column by column, so that no row is whole before the last columns. The published
    counters say that 754 MB are saved and 757 loaded again, not which tiles; here all but the last
    two pieces of a row tile are, 805 MB. Maxima are read out of PSUM, as the counters say too.
    """
    k = Kernel()
    lhs, rhs = k.input(BATCH * ROWS, DEPTH), k.input(BATCH * DEPTH, COLUMNS)
    out = k.output(BATCH * ROWS, COLUMNS)
    saved = k.output(BATCH * TILES * (PIECES - KEPT) * 128, WIDE)
    kept = [[k.sbuf(WIDE) for _ in range(KEPT)] for _ in range(TILES)]
    largest = k.sbuf(TILES)
    with k.loop(BATCH) as b:  # buffers of one part give way to those of the other
        scores = _Scores(k, lhs, rhs, saved, kept, largest)
        rows = _Rows(k, out, saved, kept, largest)
        for i1 in range(4):
            scores.columns(b, i1)
        for tile in range(TILES):
            rows.normalise(b, tile)
    return k


def _place(saved: Tensor, b: Index, tile: int, piece: int) -> tuple[Index, int, int, int]:
    """Where a piece of the scores lies in HBM: 256 KiB side by side."""
    number = tile * (PIECES - KEPT) + piece
    return b * (TILES * (PIECES - KEPT) * 128) + number * 128, 128, 0, WIDE


class _Scores:
    """The products, and the largest of each row."""

    def __init__(
        self,
        k: Kernel,
        lhs: Tensor,
        rhs: Tensor,
        saved: Tensor,
        kept: list[list[Tile]],
        largest: Tile,
    ) -> None:
        self.k, self.lhs, self.rhs, self.saved, self.kept = k, lhs, rhs, saved, kept
        self.largest, self.one = largest, [k.sbuf(1) for _ in range(4)]
        self.turned = [k.sbuf(1024, rows=DEPTH) for _ in range(4)]
        self.loaded = [k.sbuf(DEPTH) for _ in range(4)]
        self.right = k.sbuf(1024, rows=DEPTH)
        self.passing = [k.sbuf(WIDE) for _ in range(8)]
        self.banks = [k.psum(WIDE) for _ in range(8)]

    def columns(self, b: Index, i1: int) -> None:
        """1024 columns of all row tiles; the left side is transposed with the first ones."""
        k = self.k
        k.load(self.right(), self.rhs(b * DEPTH, DEPTH, 1024 * i1, 1024))
        for i2 in range(4):
            if i1 == 0:
                for i3 in range(8):
                    x, bank = self.loaded[i3 % 4], self.banks[i3]
                    k.load(x(), self.lhs(b * ROWS + (1024 * i2 + 128 * i3), 128, 0, DEPTH))
                    k.transpose(bank(128, rows=DEPTH), x())
                    k.act(self.turned[i2](128, at=128 * i3), bank(128, rows=DEPTH))
            for i4 in range(8):
                for i5 in range(2):
                    self._piece(b, 8 * i2 + i4, 2 * i1 + i5)

    def _piece(self, b: Index, tile: int, piece: int) -> None:
        k = self.k
        bank = self.banks[(2 * tile + piece) % 8]
        stationary = self.turned[tile // 8](128, at=128 * (tile % 8))
        k.matmul(bank(), stationary, self.right(WIDE, at=WIDE * (piece % 2)))
        first = piece < PIECES - KEPT
        target = (
            self.passing[(2 * tile + piece) % 8]
            if first
            else self.kept[tile][piece - PIECES + KEPT]
        )
        k.act(target(), bank())
        whole = self.largest(1, at=tile)
        one = self.one[(2 * tile + piece) % 4]()
        k.reduce(one if piece else whole, bank(), "max")
        if piece:
            k.tensor_tensor(whole, whole, one, "max")
        if first:
            k.store(self.saved(*_place(self.saved, b, tile, piece)), target())


class _Rows:
    """Exponentials, their sums and quotients, row tile by row tile."""

    def __init__(
        self, k: Kernel, out: Tensor, saved: Tensor, kept: list[list[Tile]], largest: Tile
    ) -> None:
        self.k, self.out, self.saved, self.kept, self.largest = k, out, saved, kept, largest
        self.loaded = [[k.sbuf(WIDE) for _ in range(PIECES - KEPT)] for _ in range(2)]
        self.numbers = [k.sbuf(4) for _ in range(2)]
        self.results = [k.sbuf(1024) for _ in range(4)]

    def normalise(self, b: Index, tile: int) -> None:
        """One row tile, in place but for the result."""
        k, numbers, loaded = self.k, self.numbers[tile % 2], self.loaded[tile % 2]
        for piece, target in enumerate(loaded):
            k.load(target(), self.saved(*_place(self.saved, b, tile, piece)))
        pieces = [*loaded, *self.kept[tile]]
        k.tensor_scalar(numbers(1), self.largest(1, at=tile), "multiply", -1.0)
        total, one, inverse = (numbers(1, at=at) for at in (1, 2, 3))
        for number, part in enumerate(pieces):
            k.act(part(), part(), "exp", bias=numbers(1))
            k.reduce(one if number else total, part())
            if number:
                k.tensor_tensor(total, total, one)
        k.reciprocal(inverse, total)
        for half in range(PIECES // 2):
            result = self.results[half]
            for i in range(2):
                k.act(result(WIDE, at=WIDE * i), pieces[2 * half + i](), scale=inverse)
            k.store(self.out(b * ROWS + 128 * tile, 128, 1024 * half, 1024), result())
