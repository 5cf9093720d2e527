"""Autocomp's optimised kernels: attention and depthwise convolution."""

from benchmarks.calibration.builder import Index, Kernel

SEQUENCE = 4096


def attention() -> Kernel:
    """One head, sequence 4096, width 128, bf16; the row maximum is taken of the first tile.

    Exponentials, sums and copies are of 512 columns each: the compiler joins the inner loop. ACT
    and DVE copy in turn.
    """
    k = Kernel()
    q, key, value = (k.input(128, SEQUENCE, "bf16") for _ in range(3))
    out = k.output(SEQUENCE, 128, "bf16")
    queries, keys = (k.sbuf(SEQUENCE, "bf16") for _ in range(2))
    turned = k.sbuf(SEQUENCE, "bf16")
    columns = [k.sbuf(128, "bf16") for _ in range(4)]
    scores = [k.psum(512) for _ in range(3)]
    flipped = [k.psum(512) for _ in range(3)]
    totals = [k.psum(128) for _ in range(2)]
    largest, one = k.sbuf(1), k.sbuf(1)
    weights, sides = ([k.sbuf(512, "bf16") for _ in range(4)] for _ in range(2))
    sums = [k.sbuf(8) for _ in range(2)]
    inverse = [k.sbuf(2) for _ in range(2)]
    results = [k.sbuf(128, "bf16") for _ in range(2)]
    k.load(queries(), q(0, 128, 0, SEQUENCE))
    k.load(keys(), key(0, 128, 0, SEQUENCE))
    for column in range(32):
        tile, bank = columns[column % 4], flipped[column % 3]
        k.load(tile(), value(0, 128, 128 * column, 128))
        k.transpose(bank(128), tile())
        k.copy(turned(128, at=128 * column), bank(128))
    for ik in range(8):
        k.matmul(scores[ik % 3](), queries(128), keys(512, at=512 * ik))
        k.reduce(one() if ik else largest(), scores[ik % 3](), "max")
        if ik:
            k.tensor_tensor(largest(), largest(), one(), "max")
    k.tensor_scalar(largest(), largest(), "multiply", -1.0)

    def score(iq: Index, ik: int) -> None:
        k.matmul(scores[ik % 3](), queries(128, at=iq * 128), keys(512, at=512 * ik))
        k.act(weights[ik % 4](), scores[ik % 3](), "exp", bias=largest())

    def flip(slot: int, ik: int) -> None:
        for j in range(4):
            k.transpose(flipped[ik % 3](128, at=128 * j), weights[ik % 4](128, at=128 * j))
        copy = k.act if ik % 2 else k.copy
        copy(sides[ik % 4](), flipped[ik % 3]())
        k.reduce(sums[slot](1, at=ik), weights[ik % 4]())

    def weigh(iq: Index, slot: int, ik: int) -> None:
        for j in range(4):
            column = turned(128, at=128 * (4 * ik + j))
            first = ik == j == 0
            k.matmul(totals[slot](), sides[ik % 4](128, at=128 * j), column, first=first)
        if ik == 7:
            k.reduce(inverse[slot](1), sums[slot]())
            k.reciprocal(inverse[slot](1, at=1), inverse[slot](1))
            k.scale_rows(results[slot](), totals[slot](), inverse[slot](1, at=1))
            k.store(out(iq * 128, 128, 0, 128), results[slot]())

    def steps(iq: Index, slot: int, first: int = 0) -> None:
        """Scores of query tile `iq`; transposes lag one step, products with v two."""
        for ik in range(first, 8):
            score(iq, ik)
            flip(slot if ik else 1 - slot, (ik - 1) % 8)
            if ik < 2:
                weigh(iq + -1, 1 - slot, 6 + ik)
            else:
                weigh(iq, slot, ik - 2)

    start = Index(0)
    score(start, 0)
    score(start, 1)
    flip(0, 0)
    steps(start, 0, 2)
    for i, slot in k.rounds(31, 2):
        steps(i + 1, 1 - slot)
    weigh(Index(31), 1, 6)
    flip(1, 7)
    weigh(Index(31), 1, 7)
    return k


def convolution() -> Kernel:
    """Depthwise convolution, batch 8, 512 channels, width 2048, three taps, fp32, no products."""
    k = Kernel(stores="act")
    width = 2048
    filters, images = k.input(512, 3), k.input(8 * 512, width)
    out = k.output(8 * 512, width)
    loaded, taps = k.sbuf(3), k.psum(3)
    padded = [k.sbuf(width + 2) for _ in range(2)]
    results = [k.sbuf(width) for _ in range(2)]
    products = [k.sbuf(384) for _ in range(2)]
    with k.loop(4) as c:
        k.load(loaded(), filters(c * 128, 128, 0, 3))
        k.copy(taps(), loaded())
        for n, slot in k.rounds(8, 2):
            image, result = padded[slot], results[slot]
            k.memset(image(), "pool")
            k.load(image(width, at=1), images(n * 512 + c * 128, 128, 0, width))
            k.memset(result(), "pool")
            for block in range(16):
                windows = image(at=128 * block, dims=((128, 1), (3, 1)))
                product = products[block % 2]
                repeated = taps(dims=((128, 0), (3, 1)))
                k.tensor_tensor(product(dims=((128, 3), (3, 1))), windows, repeated, "multiply")
                k.reduce(result(128, at=128 * block), product(dims=((128, 3), (3, 1))))
            k.store(out(n * 512 + c * 128, 128, 0, width), result())
    return k
