"""Stanford CS149's convolution: 256 to 256 channels, 224 x 224, 3 x 3, no padding, and a pool.

By the student's description: two output rows are one product of 444 columns for each filter
position; their windows are copied together on ACT; NKI's matmul transposes its left side, the
filter, at each call. DVE does the other copies, which the description gives to no engine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.calibration.builder import Index, Kernel, Tensor, Tile

CHANNELS, SIZE, TAPS = 256, 224, 9
WIDTH = SIZE - 2
TILES = CHANNELS // 128
AHEAD = 3


@dataclass
class _Buffers:
    """What rotates: strips of 4 rows, joined windows, turned filters, sums, results."""

    strips: list[list[Tile]]
    windows: list[Tile]
    turned: list[Tile]
    corners: list[Tile]
    sums: list[list[Tile]]
    joined: list[Tile]
    rows: list[list[Tile]]
    pooled: list[list[Tile]]


def convolution(dtype: str, *, pool: bool = False) -> Kernel:
    """With `pool`, the largest of each 2 x 2 results is stored."""
    k = Kernel()
    x, w = k.input(CHANNELS, SIZE * SIZE, dtype), k.input(CHANNELS, CHANNELS * TAPS, dtype)
    bias = k.input(CHANNELS, 1, dtype)
    side = WIDTH // 2 if pool else WIDTH
    out = k.output(CHANNELS, side * side, dtype)
    filters = [k.sbuf(CHANNELS * TAPS, dtype) for _ in range(TILES)]
    biases = [k.sbuf(1, dtype) for _ in range(TILES)]
    pairs = range(2)
    b = _Buffers(
        strips=[[k.sbuf(4 * SIZE, dtype) for _ in range(TILES)] for _ in pairs],
        windows=[k.sbuf(2 * WIDTH, dtype) for _ in range(4)],
        turned=[k.sbuf(128, dtype) for _ in range(4)],
        corners=[k.psum(128) for _ in range(4)],
        sums=[[k.psum(2 * WIDTH) for _ in range(TILES)] for _ in pairs],
        joined=[k.sbuf(2 * WIDTH, dtype) for _ in range(TILES)],
        rows=[[k.sbuf(WIDTH, dtype) for _ in pairs] for _ in range(2 * TILES)],
        pooled=[[k.sbuf(WIDTH // 2, dtype) for _ in range(3)] for _ in range(TILES)],
    )
    for m in range(TILES):
        k.load(filters[m](), w(128 * m, 128, 0, CHANNELS * TAPS))
        k.load(biases[m](), bias(128 * m, 128, 0, 1))

    def start(strip: Index, slot: int, meanwhile: Iterator[None]) -> None:
        for kt, tile in enumerate(b.strips[slot]):
            for row in range(4):
                at = strip * (2 * SIZE) + SIZE * row
                place = x(128 * kt, 128, at, SIZE)
                k.load(tile(SIZE, at=SIZE * row), place, f" row {row}")
        _products(k, filters, b, slot, meanwhile)

    def finish(strip: Index, slot: int) -> Iterator[None]:
        for m in range(TILES):
            k.copy(b.joined[m](), b.sums[slot][m]())
            yield
        for m in range(TILES):
            yield from _finish(k, out, strip, b, m, biases[m], pool)

    start(Index(0), 0, iter(()))
    for i, slot in k.rounds(WIDTH // 2 - 1, 2):
        start(i + 1, 1 - slot, finish(i, slot))
    for _ in finish(Index(WIDTH // 2 - 1), 0):
        pass
    return k


def _products(
    k: Kernel, filters: list[Tile], b: _Buffers, slot: int, meanwhile: Iterator[None]
) -> None:
    """Both sums of one strip, over input channels and filter positions; `meanwhile` in between."""
    order = [(kt, tap, m) for kt in range(TILES) for tap in range(TAPS) for m in range(TILES)]
    for step in range(len(order) + AHEAD):
        if step < len(order):
            kt, tap, m = order[step]
            corner, turned = b.corners[step % 4], b.turned[step % 4]
            k.transpose(corner(), filters[m](at=128 * TAPS * kt + tap, dims=((128, TAPS),)))
            k.copy(turned(), corner())
            if m == 0:
                window = b.windows[step // TILES % 4]
                for row in range(2):
                    at = SIZE * (row + tap // 3) + tap % 3
                    part = b.strips[slot][kt](WIDTH, at=at)
                    k.act(window(WIDTH, at=WIDTH * row), part)
        if step >= AHEAD:
            done = step - AHEAD
            kt, tap, m = order[done]
            window = b.windows[done // TILES % 4]
            first = kt == tap == 0
            k.matmul(b.sums[slot][m](), b.turned[done % 4](), window(), first=first)
            if m == 1:
                next(meanwhile, None)


def _finish(
    k: Kernel, out: Tensor, strip: Index, b: _Buffers, m: int, bias: Tile, pool: bool
) -> Iterator[None]:
    """Bias and store of both rows, or of the largest of their pairs."""
    both = []
    for row in range(2):
        copied, added = b.rows[2 * m + row]
        k.copy(copied(), b.joined[m](WIDTH, at=WIDTH * row))
        yield
        operands = [copied(), bias(), None]
        k.emit("tensor_scalar", "dve", [added()], operands, op0="add", imm0=0.0)
        yield
        if not pool:
            place = out(128 * m, 128, strip * (2 * WIDTH) + WIDTH * row, WIDTH)
            k.store(place, added())
        both.append(added)
    if pool:
        half = WIDTH // 2
        even, odd, largest = b.pooled[m]
        upper, lower = both
        k.tensor_tensor(upper(), upper(), lower(), "max")
        yield
        k.copy(even(), upper(dims=((half, 2),)))
        yield
        k.copy(odd(), upper(at=1, dims=((half, 2),)))
        yield
        k.tensor_tensor(largest(), even(), odd(), "max")
        k.store(out(128 * m, 128, strip * half, half), largest())
