"""AccelOpt's NKIBench kernels with products, in fp32."""

from benchmarks.calibration.builder import Index, Kernel, Tensor, Tile

WIDE = 512


def batched_matmul() -> Kernel:
    """[16, 4096, 64] x [16, 64, 4096]: bound by its stores.

    The transposed left side is made once; three of its four slices go to HBM and back, as the
    byte counters say.
    """
    k = Kernel()
    lhs, rhs = k.input(16 * 4096, 64), k.input(16 * 64, 4096)
    out = k.output(16 * 4096, 4096)
    spilled = k.output(16 * 3 * 64, 1024)
    slices = [k.sbuf(1024, rows=64) for _ in range(6)]
    loaded = [k.sbuf(64) for _ in range(8)]
    right = [k.sbuf(1024, rows=64) for _ in range(2)]
    results = [k.sbuf(1024) for _ in range(8)]
    banks = [k.psum(WIDE) for _ in range(8)]

    def transposed(b: Index, i2: int) -> None:
        for i3 in range(8):
            x, bank = loaded[i3], banks[i3]
            k.load(x(), lhs(b * 4096 + (1024 * i2 + 128 * i3), 128, 0, 64))
            k.transpose(bank(128, rows=64), x())
            k.act(slices[i2](128, at=128 * i3), bank(128, rows=64))
        if i2:
            k.store(spilled(b * 192 + 64 * (i2 - 1), 64, 0, 1024), slices[i2]())

    with k.loop(16) as b:
        for i1 in range(4):
            moving = right[i1 % 2]
            k.load(moving(), rhs(b * 64, 64, 1024 * i1, 1024))
            for i2 in range(4):
                stationary = slices[i2]
                if i1 == 0:
                    transposed(b, i2)
                elif i2 and not (i1 == 1 and i2 == 3):
                    k.load(stationary(), spilled(b * 192 + 64 * (i2 - 1), 64, 0, 1024))
                for i4, turn in k.rounds(8, 4):
                    for i5 in range(2):
                        bank = banks[2 * turn + i5]
                        part = moving(WIDE, at=WIDE * i5)
                        k.matmul(bank(), stationary(128, at=i4 * 128), part)
                        k.act(results[turn](WIDE, at=WIDE * i5), bank())
                    row = b * 4096 + i4 * 128 + 1024 * i2
                    k.store(out(row, 128, 1024 * i1, 1024), results[turn]())
    return k


def transposed_matmul() -> Kernel:
    """[2048, 4096]^T x [2048, 10944]: half of the next block of B fits beside this one."""
    k = Kernel()
    left, right = k.input(128, 16 * 4096), k.input(128, 16 * 10944)
    out = k.output(4096, 10944)
    a = [k.sbuf(1024) for _ in range(16)]
    pool = [k.sbuf(1024) for _ in range(24)]
    results = [k.sbuf(1024) for _ in range(4)]
    banks = [k.psum(WIDE) for _ in range(8)]
    with k.loop(4) as i0:
        for t in range(16):
            k.load(a[t](), left(0, 128, i0 * 1024 + 4096 * t, 1024))
        for i2, turn in k.rounds(11, 3):
            last = i2 == Index(10)
            width = 704 if last else 1024
            b = [pool[(16 * turn + t) % 24] for t in range(16)]
            for t in range(16):
                k.load(b[t](width), right(0, 128, i2 * 1024 + 10944 * t, width))
            for i4, slot in k.rounds(8, 4):
                for i5 in range(2):
                    bank = banks[2 * slot + i5]
                    for t in range(16):
                        stationary = a[t](128, at=i4 * 128)
                        k.matmul(bank(), stationary, b[t](WIDE, at=WIDE * i5), first=t == 0)
                    part = WIDE if not last or i5 == 0 else 704 - WIDE
                    k.act(results[slot](part, at=WIDE * i5), bank(part))
                row = i0 * 1024 + i4 * 128
                k.store(out(row, 128, i2 * 1024, width), results[slot](width))
    return k


def rmsnorm_matmul() -> Kernel:
    """rmsnorm(x[4096, 1024]) x W[1024, 2048]; 7 of the 16 tiles of W stay in SBUF."""
    k = Kernel()
    x, w = k.input(4096, 1024), k.input(1024, 2048)
    out = k.output(4096, 2048)
    inputs = [k.sbuf(1024) for _ in range(4)]
    normal = [k.sbuf(8 * 1024) for _ in range(1)]
    kept = [k.sbuf(1024) for _ in range(7)]
    passing = [k.sbuf(1024) for _ in range(9)]
    squares = [k.sbuf(WIDE) for _ in range(2)]
    scaled = [k.sbuf(WIDE) for _ in range(2)]
    sums = [k.sbuf(4) for _ in range(2)]
    results = [k.sbuf(1024) for _ in range(4)]
    banks = [k.psum(WIDE) for _ in range(8)]
    zero = k.sbuf(1)
    k.memset(zero())
    for t, tile in enumerate(kept):
        k.load(tile(), w(128 * (t % 8), 128, 1024 * (t // 8), 1024))
    for i0 in range(4):
        for i1 in range(8):
            source, some = inputs[i1 % 4], sums[i1 % 2]
            k.load(source(), x(1024 * i0 + 128 * i1, 128, 0, 1024))
            for i2 in range(2):
                k.act(squares[i2](), source(WIDE, at=WIDE * i2), "square")
                k.act(squares[i2](), squares[i2](), scale=1 / 1024)
                k.reduce(some(1, at=i2), squares[i2]())
            k.tensor_tensor(some(1, at=2), some(1), some(1, at=1))
            k.act(some(1, at=3), some(1, at=2), "rsqrt", bias=zero())
            for i3 in range(2):
                part = scaled[i3]
                k.act(part(), source(WIDE, at=WIDE * i3), scale=some(1, at=3))
                for i4 in range(4):
                    bank = banks[(4 * i3 + i4) % 8]
                    k.transpose(bank(128), part(128, at=128 * i4))
                    k.act(normal[0](128, at=1024 * i1 + 512 * i3 + 128 * i4), bank(128))
        for i5 in range(2):
            tiles = [*kept, *passing][8 * i5 : 8 * i5 + 8]
            for t, tile in enumerate(tiles):
                if tile in passing:
                    k.load(tile(), w(128 * t, 128, 1024 * i5, 1024))
            for i8, turn in k.rounds(8, 4):
                for i9 in range(2):
                    bank = banks[2 * turn + i9]
                    for t, tile in enumerate(tiles):
                        stationary = normal[0](128, at=i8 * 1024 + 128 * t)
                        k.matmul(bank(), stationary, tile(WIDE, at=WIDE * i9), first=t == 0)
                    k.act(results[turn](WIDE, at=WIDE * i9), bank())
                row = i8 * 128 + 1024 * i0
                k.store(out(row, 128, 1024 * i5, 1024), results[turn]())
    return k


def swiglu() -> Kernel:
    """(silu(x Wg) * (x Wup)) Wdown for x [4096, 1024], hidden 3072, hidden on partitions."""
    k = Kernel()
    x, gate, up = k.input(4096, 1024), k.input(1024, 3072), k.input(1024, 3072)
    down = k.input(3072, 1024)
    out, hidden = k.output(4096, 1024), k.output(24 * 8 * 128, WIDE)
    saved = k.output(8 * 128, 8 * WIDE)
    banks = [k.psum(WIDE) for _ in range(8)]
    _hidden(k, x, (gate, up), saved, hidden, banks)
    weights = [k.sbuf(1024) for _ in range(24)]
    for t, tile in enumerate(weights):
        k.load(tile(), down(128 * t, 128, 0, 1024))
    tiles = [k.sbuf(WIDE) for _ in range(30)]
    results = [k.sbuf(1024) for _ in range(2)]
    with k.loop(8) as token:
        for t in range(24):
            k.load(tiles[t](), hidden(token * 128 + 1024 * t, 128, 0, WIDE))
        for i19 in range(4):
            for i20 in range(2):
                bank = banks[2 * i19 + i20]
                for t in range(24):
                    stationary = tiles[t](128, at=128 * i19)
                    k.matmul(bank(), stationary, weights[t](WIDE, at=WIDE * i20), first=t == 0)
                k.act(results[i19 % 2](WIDE, at=WIDE * i20), bank())
            k.store(out(token * 512 + 128 * i19, 128, 0, 1024), results[i19 % 2]())
    return k


def _hidden(
    k: Kernel,
    x: Tensor,
    weights: tuple[Tensor, Tensor],
    saved: Tensor,
    hidden: Tensor,
    banks: list[Tile],
) -> None:
    """Both first products; x is transposed once, saved, and loaded again for each block of W."""
    pool = [k.sbuf(1024) for _ in range(20)]
    inputs = [k.sbuf(1024) for _ in range(4)]
    turned = [k.sbuf(8 * WIDE) for _ in range(2)]
    work = [[k.sbuf(WIDE) for _ in range(3)] for _ in range(3)]
    for i0 in range(3):
        used = [pool[(16 * i0 + t) % 20] for t in range(16)]
        for t, tile in enumerate(used):
            k.load(tile(), weights[t // 8](128 * (t % 8), 128, 1024 * i0, 1024))
        for token, slot in k.rounds(8, 2):
            columns = turned[slot]
            place = (token * 128, 128, 0, 8 * WIDE)
            if i0:
                k.load(columns(), saved(*place))
            else:
                for row in range(4):
                    k.load(inputs[row](), x(token * WIDE + 128 * row, 128, 0, 1024))
                    for t in range(8):
                        bank = banks[t]
                        k.transpose(bank(128), inputs[row](128, at=128 * t))
                        k.act(columns(128, at=WIDE * t + 128 * row), bank(128))
                k.store(saved(*place), columns())
            for i5 in range(8):
                g, e, r = (t() for t in work[i5 % 3])
                pair = banks[2 * (i5 % 4)], banks[2 * (i5 % 4) + 1]
                for which, bank in enumerate(pair):
                    for t in range(8):
                        stationary = used[8 * which + t](128, at=128 * i5)
                        k.matmul(bank(), stationary, columns(WIDE, at=WIDE * t), first=t == 0)
                k.act(g, pair[0]())
                k.act(e, g, "exp", scale=-1.0)
                k.act(e, e)
                k.reciprocal(r, e)
                k.tensor_tensor(r, g, r, "multiply")
                k.tensor_tensor(r, r, pair[1](), "multiply")
                k.store(hidden(token * 128 + 1024 * (8 * i0 + i5), 128, 0, WIDE), r)
