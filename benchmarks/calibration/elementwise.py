"""AccelOpt's NKIBench kernels without products, in fp32: adamw, silu, rope."""

from collections.abc import Iterator

from benchmarks.calibration.builder import Index, Kernel, Tile, View

HALF = 512
STAGGER = 6


def adamw() -> Kernel:
    """theta after a step of AdamW, [10944, 2048].

    The vendor's compiler puts three scaled inputs into PSUM, and mixes what is independent: here
    a half tile starts when the one before is half done.
    """
    k = Kernel()
    rows, columns = 10944, 2048
    arguments = [k.input(rows, columns) for _ in range(4)]
    out = k.output(rows, columns)
    tiles = [[k.sbuf(1024) for _ in range(5)] for _ in range(6)]
    banks = [[k.psum(HALF) for _ in range(2)] for _ in range(4)]
    work = [[k.sbuf(HALF) for _ in range(6)] for _ in range(4)]

    def group(row: Index, partitions: int, column: int, slot: int, half: int) -> Iterator[None]:
        tile = tiles[slot]
        if half == 0:
            for t, argument in zip(tile, arguments, strict=False):
                k.load(t(rows=partitions), argument(row, partitions, 1024 * column, 1024))
        turn = (2 * slot + half) % 4
        yield from _adamw_half(
            k,
            [t(HALF, at=HALF * half, rows=partitions) for t in tile],
            [b(rows=partitions) for b in banks[turn]],
            [w(rows=partitions) for w in work[turn]],
        )
        if half == 1:
            place = out(row, partitions, 1024 * column, 1024)
            k.store(place, tile[4](rows=partitions))

    def groups(i: Index, first: int, partitions: int) -> list[Iterator[None]]:
        return [
            group(i * 128, partitions, column, first + column, half)
            for column in range(2)
            for half in range(2)
        ]

    waiting: list[Iterator[None]] = []
    for i, turn in k.rounds(rows // 128, 3):
        waiting += groups(i, 2 * turn, 128)
        if turn == 2:
            _stagger(waiting)
            waiting = []
    _stagger(waiting + groups(Index(rows // 128), 2, 64))
    return k


def _stagger(parts: list[Iterator[None]]) -> None:
    """Run the parts one step each in turn; the next one starts every STAGGER steps."""
    running: list[Iterator[None]] = []
    step = 0
    while parts or running:
        if parts and step % STAGGER == 0:
            running.append(parts.pop(0))
        running = [part for part in running if next(part, running) is None]
        step += 1


def _adamw_half(k: Kernel, tile: list[View], banks: list[View], work: list[View]) -> Iterator[None]:
    theta, m, v, g, out = tile
    p, q = banks
    b, c, f, h, j, n = work
    k.act(p, theta, scale=1e-5)
    yield
    k.tensor_tensor(b, theta, p, "subtract")
    yield
    k.act(c, m, scale=0.9)
    yield
    k.act(q, g, scale=0.1)
    yield
    k.tensor_tensor(c, c, q)
    yield
    k.act(f, c, scale=0.01)
    yield
    k.act(h, v, scale=0.999)
    yield
    k.act(p, g, scale=0.001)
    yield
    k.tensor_tensor(j, p, g, "multiply")
    yield
    k.tensor_tensor(j, h, j)
    yield
    k.act(n, j, "sqrt", scale=1000.0)
    yield
    k.act(n, n)
    yield
    k.reciprocal(n, n)
    yield
    k.tensor_tensor(f, f, n, "multiply")
    yield
    k.tensor_tensor(out, b, f, "subtract")
    yield


def silu() -> Kernel:
    """x * sigmoid(x), [128, 32 * 7168] in tiles of 1024 columns."""
    k = Kernel()
    tiles = 32 * 7
    x, y = k.input(128, tiles * 1024), k.output(128, tiles * 1024)
    inputs, outputs = ([k.sbuf(1024) for _ in range(2)] for _ in range(2))
    work: list[list[Tile]] = [[k.sbuf(HALF) for _ in range(3)] for _ in range(2)]
    for i, slot in k.rounds(tiles, 2):
        k.load(inputs[slot](), x(0, 128, i * 1024, 1024))
        for half in range(2):
            part = inputs[slot](HALF, at=HALF * half)
            e, s, r = (t() for t in work[half])
            k.act(e, part, "exp", scale=-1.0)
            k.act(s, e)
            k.reciprocal(r, s)
            k.tensor_tensor(outputs[slot](HALF, at=HALF * half), part, r, "multiply")
        k.store(y(0, 128, i * 1024, 1024), outputs[slot]())
    return k


def rope() -> Kernel:
    """Rotary embedding, [128, 262144]: even rows on partitions 0 to 63, odd ones on 64 to 127."""
    k = Kernel()
    steps, slots = 512, 2
    columns = steps * HALF
    x, cos, sin = k.input(128, columns), k.input(64, columns), k.input(64, columns)
    y = k.output(128, columns)
    inputs = [k.sbuf(HALF) for _ in range(slots)]
    tables = [[k.sbuf(HALF, rows=64) for _ in range(2)] for _ in range(slots)]
    odd = [k.sbuf(HALF, rows=64) for _ in range(slots)]
    lower = [k.sbuf(HALF, rows=64) for _ in range(slots)]
    products = [k.sbuf(HALF, rows=64) for _ in range(4)]
    outputs = [k.sbuf(HALF) for _ in range(slots)]
    for i, slot in k.rounds(steps, slots):
        c, s = (t() for t in tables[slot])
        k.load(inputs[slot](), x(0, 128, i * HALF, HALF))
        k.load(c, cos(0, 64, i * HALF, HALF))
        k.load(s, sin(0, 64, i * HALF, HALF))
        o, e = odd[slot](), inputs[slot](rows=64)
        k.act(o, inputs[slot](start=64))
        ec, oc, es, os = (p() for p in products)
        for product, value, table in ((ec, e, c), (oc, o, c), (es, e, s), (os, o, s)):
            k.tensor_tensor(product, value, table, "multiply")
        k.tensor_tensor(outputs[slot](rows=64), ec, os, "subtract")
        k.tensor_tensor(lower[slot](), oc, es)
        k.act(outputs[slot](start=64), lower[slot]())
        k.store(y(0, 128, i * HALF, HALF), outputs[slot]())
    return k
