"""The NKI tutorial's matmul: C[4096, 8192] = lhsT[8192, 4096]^T x rhs[8192, 8192] in bf16."""

from benchmarks.calibration.builder import Index, Kernel, Tensor

M, K, N = 4096, 8192, 8192


def _tensors(k: Kernel) -> tuple[Tensor, Tensor, Tensor]:
    return k.input(K, M, "bf16"), k.input(K, N, "bf16"), k.output(M, N, "bf16")


def basic() -> Kernel:
    """Version 0: every product loads both of its tiles."""
    k = Kernel()
    lhs, rhs, out = _tensors(k)
    slots = 8
    a = [k.sbuf(128, "bf16") for _ in range(slots)]
    b = [k.sbuf(512, "bf16") for _ in range(slots)]
    banks = [k.psum(512) for _ in range(2)]
    results = [k.sbuf(512, "bf16") for _ in range(2)]

    def product(m: Index, n: Index, kk: Index | int, slot: int, bank: int, first: bool) -> None:
        row = kk * 128
        k.load(a[slot](), lhs(row, 128, m * 128, 128))
        k.load(b[slot](), rhs(row, 128, n * 512, 512))
        k.matmul(banks[bank](), a[slot](), b[slot](), first=first)

    with k.loop(M // 128) as m:
        for n, bank in k.rounds(N // 512, 2):
            for slot in range(slots):
                product(m, n, slot, slot, bank, slot == 0)
            with k.loop(K // 128 // slots - 1) as turn:
                for slot in range(slots):
                    product(m, n, turn * slots + (slots + slot), slot, bank, False)
            k.act(results[bank](), banks[bank]())
            k.store(out(m * 128, 128, n * 512, 512), results[bank]())
    return k


def blocked_free() -> Kernel:
    """Version 2: blocks of 256 rows and 1024 columns of C, the whole of K in SBUF."""
    k = Kernel()
    lhs, rhs, out = _tensors(k)
    depth = K // 128
    a = [k.sbuf(depth * 128, "bf16") for _ in range(2)]
    b = [[k.sbuf(512, "bf16") for _ in range(depth)] for _ in range(2)]
    banks = [k.psum(512) for _ in range(4)]
    results = [k.sbuf(512, "bf16") for _ in range(4)]
    with k.loop(M // 256) as m:
        for bm in range(2):
            for kk, _ in k.rounds(depth, 8):
                k.load(a[bm](128, at=kk * 128), lhs(kk * 128, 128, m * 256 + bm * 128, 128))
        with k.loop(N // 1024) as n:
            for bn in range(2):
                for t, tile in enumerate(b[bn]):
                    k.load(tile(), rhs(t * 128, 128, n * 1024 + bn * 512, 512))
            for bm in range(2):
                for bn in range(2):
                    turn = 2 * bm + bn
                    for t, tile in enumerate(b[bn]):
                        stationary = a[bm](128, at=128 * t)
                        k.matmul(banks[turn](), stationary, tile(), first=t == 0)
                    k.act(results[turn](), banks[turn]())
                    place = out(m * 256 + bm * 128, 128, n * 1024 + bn * 512, 512)
                    k.store(place, results[turn]())
    return k


def fully_blocked() -> Kernel:
    """Version 3: blocks in all three dimensions, sums over K in SBUF in bf16."""
    k = Kernel()
    lhs, rhs, out = _tensors(k)
    b = [[k.sbuf(1024, "bf16") for _ in range(8)] for _ in range(2)]
    a = [[k.sbuf(2048, "bf16") for _ in range(8)] for _ in range(2)]
    results = [[k.sbuf(16 * 512, "bf16") for _ in range(2)] for _ in range(2)]  # [m][bn]
    packed = [k.sbuf(1024, "bf16") for _ in range(4)]
    banks = [k.psum(512) for _ in range(8)]
    with k.loop(N // 1024) as n:
        for m in range(2):
            for bn in range(2):
                for bm, _ in k.rounds(16, 8):
                    k.memset(results[m][bn](512, at=bm * 512))
        for kk, turn in k.rounds(8, 2):
            for bk in range(8):
                k.load(b[turn][bk](), rhs(kk * 1024 + 128 * bk, 128, n * 1024, 1024))
            for m in range(2):
                for bk in range(8):
                    k.load(a[m][bk](), lhs(kk * 1024 + 128 * bk, 128, 2048 * m, 2048))
                for bn in range(2):
                    for bm, bank in k.rounds(16, 8):
                        for bk in range(8):
                            stationary = a[m][bk](128, at=bm * 128)
                            moving = b[turn][bk](512, at=512 * bn)
                            k.matmul(banks[bank](), stationary, moving, first=bk == 0)
                        tile = results[m][bn](512, at=bm * 512)
                        k.tensor_tensor(tile, banks[bank](), tile)
        for m in range(2):
            for bm, turn in k.rounds(16, 4):
                for bn in range(2):
                    k.act(packed[turn](512, at=512 * bn), results[m][bn](512, at=bm * 512))
                k.store(out(bm * 128 + 2048 * m, 128, n * 1024, 1024), packed[turn]())
    return k
