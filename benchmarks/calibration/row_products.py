"""AccelOpt's NKIBench kernels that transpose their left side on PE, row tile by row tile, in fp32.

NKI's matmul transposes its left side at each call: the counters of the two with a norm show that
the vendor's compiler does not share those transposes over the columns of the result.
"""

from collections.abc import Callable

from benchmarks.calibration.builder import Index, Kernel, Tensor, Tile, View

WIDE = 512
AHEAD = 3


def matmul() -> Kernel:
    """[4096, 5120] x [5120, 12288]: bound by W, a block of which is loaded for each row tile.

    40 tiles of W, 160 KiB a partition, do not fit beside the row tile: the byte count is that of
    32 loads of the whole of W. Both halves of a tile are used as it comes.
    """
    k = Kernel()
    rows, depth, columns = 4096, 5120, 12288
    x, w, out = k.input(rows, depth), k.input(depth, columns), k.output(rows, columns)
    tiles = depth // 128
    passing = [k.sbuf(1024) for _ in range(16)]
    inputs = [k.sbuf(1024) for _ in range(5)]
    turned = [k.sbuf(depth) for _ in range(2)]
    results = [k.sbuf(1024) for _ in range(2)]
    corners = [k.psum(128) for _ in range(4)]
    banks = [k.psum(WIDE) for _ in range(4)]
    with k.loop(columns // 1024) as block:
        for row, slot in k.rounds(rows // 128, 2):
            for i4, source in enumerate(inputs):
                k.load(source(), x(row * 128, 128, 1024 * i4, 1024))
                for i5 in range(8):
                    k.transpose(corners[i5 % 4](), source(128, at=128 * i5))
                    k.act(turned[slot](128, at=1024 * i4 + 128 * i5), corners[i5 % 4]())
            for t in range(tiles):
                tile = passing[(t + slot * tiles) % len(passing)]
                k.load(tile(), w(128 * t, 128, block * 1024, 1024))
                for half in range(2):
                    stationary = turned[slot](128, at=128 * t)
                    part = tile(WIDE, at=WIDE * half)
                    k.matmul(banks[2 * slot + half](), stationary, part, first=t == 0)
            for half in range(2):
                k.act(results[slot](WIDE, at=WIDE * half), banks[2 * slot + half]())
            k.store(out(row * 128, 128, block * 1024, 1024), results[slot]())
    return k


class _Normalised:
    """What the kernels with an rmsnorm share: the gain on all partitions, the norm, products by W.

    Transposes run AHEAD products ahead. W stays in SBUF, loaded with the first row tile.
    """

    def __init__(self, k: Kernel, columns: int, depth: int, width: int) -> None:
        self.k, self.columns, self.tiles = k, columns, depth // 128
        self.weights = [[k.sbuf(WIDE) for _ in range(self.tiles)] for _ in range(width // WIDE)]
        self.turned = [k.sbuf(128) for _ in range(4)]
        self.small, self.zero = k.sbuf(4), k.sbuf(1)
        self.banks = [k.psum(WIDE) for _ in range(4)]
        self.corners = [k.psum(128) for _ in range(4)]
        self.gain = k.sbuf(columns)

    def spread(self, g: Tensor) -> None:
        """The gain, to all partitions by products with a column of ones."""
        k = self.k
        gain_row, ones = k.sbuf(WIDE, rows=1), k.sbuf(128, rows=1)
        k.memset(ones())
        k.memset(self.zero())
        for n in range(self.columns // WIDE):
            k.load(gain_row(), g(0, 1, WIDE * n, WIDE))
            k.matmul(self.banks[n](), ones(), gain_row())
            k.act(self.gain(WIDE, at=WIDE * n), self.banks[n]())

    def norm(self, y: Tile, scratch: Tile) -> None:
        """y = rmsnorm(y) * gain."""
        k, small = self.k, self.small
        k.act(scratch(), y(), "square")
        k.reduce(small(1), scratch())
        k.act(small(1, at=1), small(1), scale=1 / self.columns)
        k.act(small(1, at=2), small(1, at=1), "rsqrt", bias=self.zero())
        k.act(scratch(), y(), scale=small(1, at=2))
        k.tensor_tensor(y(), scratch(), self.gain(), "multiply")

    def multiply(
        self, source: Tile, w: Tensor, fill: bool, finish: Callable[[int, View], None]
    ) -> None:
        """source x W; `finish` takes each bank of WIDE columns. `fill` loads W meanwhile."""
        k = self.k
        steps = len(self.weights) * self.tiles
        for step in range(steps + AHEAD):
            if step < steps:
                n, t = divmod(step, self.tiles)
                if fill:
                    k.load(self.weights[n][t](), w(128 * t, 128, WIDE * n, WIDE))
                k.transpose(self.corners[step % 4](), source(128, at=128 * t))
                k.act(self.turned[step % 4](), self.corners[step % 4]())
            if step >= AHEAD:
                n, t = divmod(step - AHEAD, self.tiles)
                tile = self.turned[(step - AHEAD) % 4]()
                k.matmul(self.banks[n](), tile, self.weights[n][t](), first=t == 0)
                if t == self.tiles - 1:
                    finish(n, self.banks[n]())


def _row_tiles(k: Kernel, row: Callable[[Index, int, bool], None]) -> None:
    """32 row tiles over two slots; the first one loads W."""
    row(Index(0), 0, True)
    row(Index(1), 1, False)
    for i, slot in k.rounds(30, 2):
        row(i + 2, slot, False)


def matmul_add_rmsnorm() -> Kernel:
    """rmsnorm(x[4096, 2048] x W[2048, 2048] + z) * g: W nearly fills SBUF."""
    k = Kernel()
    rows, columns = 4096, 2048
    x, w, z, g = (k.input(n, columns) for n in (rows, columns, rows, 1))
    out = k.output(rows, columns)
    body = _Normalised(k, columns, columns, columns)
    inputs = [k.sbuf(columns) for _ in range(2)]
    added, y = k.sbuf(columns), k.sbuf(columns)
    body.spread(g)

    def row(i: Index, slot: int, fill: bool) -> None:
        k.load(inputs[slot](), x(i * 128, 128, 0, columns))
        k.load(added(), z(i * 128, 128, 0, columns))
        body.multiply(inputs[slot], w, fill, lambda n, bank: k.act(y(WIDE, at=WIDE * n), bank))
        k.tensor_tensor(y(), y(), added())
        body.norm(y, added)
        k.store(out(i * 128, 128, 0, columns), y())

    _row_tiles(k, row)
    return k


def add_rmsnorm_matmul() -> Kernel:
    """(rmsnorm(x[4096, 1024] + z) * g) x W[1024, 2048], W in SBUF."""
    k = Kernel()
    rows, depth, columns = 4096, 1024, 2048
    x, w = k.input(rows, depth), k.input(depth, columns)
    z, g = k.input(rows, depth), k.input(1, depth)
    out = k.output(rows, columns)
    body = _Normalised(k, depth, depth, columns)
    inputs = [[k.sbuf(depth) for _ in "xz"] for _ in range(2)]
    sums, scratch = [k.sbuf(depth) for _ in range(2)], k.sbuf(depth)
    results = [k.sbuf(WIDE) for _ in range(4)]
    body.spread(g)

    def row(i: Index, slot: int, fill: bool) -> None:
        a, b = inputs[slot]
        k.load(a(), x(i * 128, 128, 0, depth))
        k.load(b(), z(i * 128, 128, 0, depth))
        k.tensor_tensor(sums[slot](), a(), b())
        body.norm(sums[slot], scratch)

        def finish(n: int, bank: View) -> None:
            k.act(results[n](), bank)
            k.store(out(i * 128, 128, WIDE * n, WIDE), results[n]())

        body.multiply(sums[slot], w, fill, finish)

    _row_tiles(k, row)
    return k
