"""Published kernels of one NeuronCore-v2, rebuilt as instruction streams.

Each was measured on hardware by its publisher; shapes, order and engines follow their sources.
`Kernel` adds semaphores from what each instruction reads and writes.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Program,
    Source,
    Update,
    Wait,
)

BF16, F32 = DType.BF16, DType.F32
IN, OUT = Engine.DMA0, Engine.DMA8
_QUEUES = 8  # loads rotate over this many queues, and so do stores


class Tile:
    """A named buffer; a name that comes again is the same memory."""

    def __init__(self, kernel: "Kernel", name: str, space: Space) -> None:
        self.name = name
        self.space = space
        self.address = kernel.addresses.setdefault(name, (16 + len(kernel.addresses)) << 16)

    def __call__(self, n: int, dtype: DType = F32, rows: int = 128, at: int = 0) -> AccessPattern:
        """`n` elements of `rows` partitions, from element `at`."""
        address = Affine(self.address + at * dtype.size)
        return AccessPattern(self.space, dtype, address, 0, rows, ((1, n),))


class Kernel:
    """A straight-line program in the making."""

    def __init__(self) -> None:
        self.addresses: dict[str, int] = {}
        self.streams: dict[Engine, list[Item]] = {}
        self._count: dict[Engine, int] = {}
        self._writer: dict[int, tuple[Engine, int]] = {}
        self._readers: dict[int, dict[Engine, int]] = {}
        self._turn = {IN: 0, OUT: 0}

    def sbuf(self, name: str) -> Tile:
        """A buffer in SBUF."""
        return Tile(self, name, Space.SBUF)

    def psum(self, name: str) -> Tile:
        """A buffer in PSUM."""
        return Tile(self, name, Space.PSUM)

    def emit(self, i: Instruction) -> None:
        """Append `i` to its engine, waiting for what it depends on."""
        needed: dict[Engine, int] = {}

        def need(engine: Engine, number: int) -> None:
            if engine != i.engine or engine.is_dma:
                needed[engine] = max(needed.get(engine, 0), number)

        number = self._count[i.engine] = self._count.get(i.engine, 0) + 1
        for ap in i.src:
            if ap is not None and ap.space != Space.HBM:
                key = ap.address.const >> 16
                if key in self._writer:
                    need(*self._writer[key])
                self._readers.setdefault(key, {})[i.engine] = number
        for ap in i.dst:
            if ap is not None and ap.space != Space.HBM:
                key = ap.address.const >> 16
                for engine, n in self._readers.pop(key, {}).items():
                    if n != number or engine != i.engine:
                        need(engine, n)
                if key in self._writer:
                    need(*self._writer[key])
                self._writer[key] = (i.engine, number)
        i.waits = tuple(
            Wait(int(e), Affine(n * (16 if e.is_dma else 1))) for e, n in needed.items()
        )
        i.updates = (Update(int(i.engine), 16 if i.engine.is_dma else 1),)
        self.streams.setdefault(i.engine, []).append(i)

    def _queue(self, first: Engine) -> Engine:
        self._turn[first] += 1
        return Engine(first + self._turn[first] % _QUEUES)

    def load(self, dst: AccessPattern) -> None:
        """HBM to SBUF, rows of HBM as long as those of SBUF."""
        self.emit(Instruction("dma", self._queue(IN), (dst,), (_hbm(dst),)))

    def store(self, src: AccessPattern) -> None:
        """SBUF to HBM."""
        self.emit(Instruction("dma", self._queue(OUT), (_hbm(src),), (src,)))

    def matmul(
        self, dst: AccessPattern, stationary: AccessPattern, moving: AccessPattern, first: bool
    ) -> None:
        """dst = or += stationary^T @ moving."""
        params: dict[str, int | float] = {"accumulate": int(not first)}
        self.emit(Instruction("matmul", Engine.PE, (dst,), (stationary, moving), params))

    def transpose(self, dst: AccessPattern, src: AccessPattern) -> None:
        """PE transpose."""
        self.emit(Instruction("transpose", Engine.PE, (dst,), (src,)))

    def act(
        self, dst: AccessPattern, src: AccessPattern, func: Activation = Activation.COPY
    ) -> None:
        """dst = func(src) on ACT."""
        params: dict[str, int | float] = {"func": int(func)}
        self.emit(Instruction("activation", Engine.ACT, (dst,), (src, None, None), params))

    def dve(self, opcode: str, dst: AccessPattern, *src: AccessPattern) -> None:
        """An instruction of DVE, with the operator add where it takes one."""
        params: dict[str, int | float] = {"op": int(AluOp.ADD)}
        self.emit(Instruction(opcode, Engine.DVE, (dst,), src, params))

    def program(self) -> Program:
        """The finished program."""
        return Program("trn1", "main", {"main": self.streams}, [], [Source("kernel")])


def _hbm(ap: AccessPattern) -> AccessPattern:
    pitch = 4 * ap.elements * ap.dtype.size
    return replace(ap, space=Space.HBM, address=Affine(0), start=0, partition_stride=pitch)


def vector_add(iterations: int, n: int, rows: int = 128) -> Kernel:
    """CS149 vector add."""
    k = Kernel()
    for i in range(iterations):
        a, b, c = (k.sbuf(f"{x}{i % 8}")(n, rows=rows) for x in "abc")
        k.load(a)
        k.load(b)
        k.dve("tensor_tensor", c, a, b)
        k.store(c)
    return k


def blocked_matmul() -> Kernel:
    """NKI tutorial matmul, fully blocked: [4096, 8192] x [8192, 8192] in bf16."""
    k = Kernel()
    bank = 0
    for n in range(8):
        for kk in range(8):
            turn = (n * 8 + kk) % 2
            rhs = [k.sbuf(f"rhs{turn}.{b}") for b in range(8)]
            for tile in rhs:
                k.load(tile(1024, BF16))
            for m in range(2):
                lhs = [k.sbuf(f"lhs{m}.{b}") for b in range(8)]
                for tile in lhs:
                    k.load(tile(2048, BF16))
                for bn in range(2):
                    for bm in range(16):
                        psum = k.psum(f"bank{bank % 8}")(512)
                        bank += 1
                        for b in range(8):
                            stationary = lhs[b](128, BF16, at=128 * bm)
                            k.matmul(psum, stationary, rhs[b](512, BF16, at=512 * bn), b == 0)
                        out = k.sbuf(f"result{n % 2}.{m}.{bm}.{bn}")(512, BF16)
                        k.dve("tensor_tensor", out, psum, out)
        for m in range(2):
            for bm in range(16):
                packed = k.sbuf(f"packed{bm % 4}")
                for bn in range(2):
                    source = k.sbuf(f"result{n % 2}.{m}.{bm}.{bn}")(512, BF16)
                    k.act(packed(512, BF16, at=512 * bn), source)
                k.store(packed(1024, BF16))
    return k


def silu() -> Kernel:
    """AccelOpt NKIBench silu: [128, 32, 7168] in fp32."""
    k = Kernel()
    for i in range(224):
        x, y = k.sbuf(f"x{i % 4}"), k.sbuf(f"y{i % 4}")
        k.load(x(1024))
        for j in range(2):
            e, s, r = (k.sbuf(f"{t}{(2 * i + j) % 4}")(512) for t in "esr")
            part = x(512, at=512 * j)
            k.act(e, part, Activation.EXP)
            k.act(s, e)
            k.dve("reciprocal", r, s)
            k.dve("tensor_tensor", y(512, at=512 * j), part, r)
        k.store(y(1024))
    return k


def rope() -> Kernel:
    """AccelOpt NKIBench rope: [128, 262144] in fp32."""
    k = Kernel()
    for i in range(512):
        x, y, c, s, o = (k.sbuf(f"{t}{i % 4}") for t in "xycso")
        k.load(x(512))
        k.load(c(512, rows=64))
        k.load(s(512, rows=64))
        k.act(o(512, rows=64), x(512, rows=64))
        products = [k.sbuf(f"p{j}.{i % 4}")(512, rows=64) for j in range(4)]
        for j, p in enumerate(products):
            k.dve("tensor_tensor", p, (x, o)[j % 2](512, rows=64), (c, s)[j // 2](512, rows=64))
        k.dve("tensor_tensor", y(512, rows=64), products[0], products[3])
        k.dve("tensor_tensor", y(512, rows=64), products[1], products[2])
        k.store(y(512))
    return k


def adamw() -> Kernel:
    """AccelOpt NKIBench adamw: [10944, 2048] in fp32; three results go to PSUM.

    The halves of a tile are independent, and the vendor's compiler reorders: they alternate here.
    """
    k = Kernel()
    for i in range(172):
        tiles = [k.sbuf(f"{t}{i % 3}") for t in ("th", "m", "v", "g", "out")]
        for tile in tiles[:4]:
            k.load(tile(1024))
        halves = [
            _adamw_half(k, (2 * i + j) % 4, *(t(512, at=512 * j) for t in tiles)) for j in (0, 1)
        ]
        for _ in zip(*halves, strict=True):
            pass
        k.store(tiles[4](1024))
    return k


def _adamw_half(
    k: Kernel,
    turn: int,
    theta: AccessPattern,
    m: AccessPattern,
    v: AccessPattern,
    g: AccessPattern,
    out: AccessPattern,
) -> Iterator[None]:
    t = {n: k.sbuf(f"{n}.{turn}")(512) for n in "bcefhjklnoq"}
    p = {n: k.psum(f"{n}.{turn}")(512) for n in "adi"}
    steps: list[tuple[str, AccessPattern, tuple[AccessPattern, ...]]] = [
        ("act", p["a"], (theta,)),
        ("tensor_tensor", t["b"], (theta, p["a"])),
        ("act", t["c"], (m,)),
        ("act", p["d"], (g,)),
        ("tensor_tensor", t["e"], (t["c"], p["d"])),
        ("act", t["f"], (t["e"],)),
        ("act", t["h"], (v,)),
        ("act", p["i"], (g,)),
        ("tensor_tensor", t["j"], (p["i"], g)),
        ("tensor_tensor", t["k"], (t["h"], t["j"])),
        ("sqrt", t["l"], (t["k"],)),
        ("act", t["n"], (t["l"],)),
        ("reciprocal", t["o"], (t["n"],)),
        ("tensor_tensor", t["q"], (t["f"], t["o"])),
        ("tensor_tensor", out, (t["b"], t["q"])),
    ]
    for opcode, dst, sources in steps:
        if opcode in ("act", "sqrt"):
            k.act(dst, sources[0], Activation.SQRT if opcode == "sqrt" else Activation.COPY)
        else:
            k.dve(opcode, dst, *sources)
        yield


def batched_matmul() -> Kernel:
    """AccelOpt NKIBench bmm: [16, 4096, 64] x [16, 64, 4096] in fp32, bound by its stores."""
    k = Kernel()
    bank = 0
    for b in range(16):
        for row in range(4):
            lhs = k.sbuf(f"lhsT{(4 * b + row) % 2}")
            for t in range(8):
                x = k.sbuf(f"x{t % 4}")(64)
                k.load(x)
                psum = k.psum(f"bank{bank % 8}")(128, rows=64)
                bank += 1
                k.transpose(psum, x)
                k.act(lhs(128, rows=64, at=128 * t), psum)
            for column in range(4):
                rhs = k.sbuf(f"rhs{column % 2}")
                k.load(rhs(1024, rows=64))
                for t in range(8):
                    out = k.sbuf(f"out{t % 4}")
                    for half in range(2):
                        psum = k.psum(f"bank{bank % 8}")(512)
                        bank += 1
                        moving = rhs(512, rows=64, at=512 * half)
                        k.matmul(psum, lhs(128, rows=64, at=128 * t), moving, True)
                        k.act(out(512, at=512 * half), psum)
                    k.store(out(1024))
    return k


def transposed_matmul() -> Kernel:
    """AccelOpt NKIBench transpose_matmul: [2048, 4096]^T x [2048, 10944] in fp32."""
    k = Kernel()
    bank = 0
    for i0 in range(4):
        a = [k.sbuf(f"a{t}") for t in range(16)]
        for tile in a:
            k.load(tile(1024))
        for i2 in range(11):
            width = 704 if i2 == 10 else 1024
            rhs = [k.sbuf(f"b{t}") for t in range(16)]
            for tile in rhs:
                k.load(tile(width))
            for i4 in range(8):
                out = k.sbuf(f"out{i4 % 4}")
                for i5 in range(2):
                    psum = k.psum(f"bank{bank % 8}")(512)
                    bank += 1
                    for t in range(16):
                        stationary = a[t](128, at=128 * i4)
                        k.matmul(psum, stationary, rhs[t](512, at=512 * i5), t == 0)
                    k.act(out(512, at=512 * i5), psum)
                k.store(out(width))
        del i0
    return k


def mamba() -> Kernel:
    """Autocomp mamba, version 7: 256 channels, 2048 steps, 16 states, in fp32."""
    k = Kernel()
    bank = 0
    for ct in range(2):
        k.load(k.sbuf(f"A{ct}")(16))
        for f in range(4):
            turn = (4 * ct + f) % 2
            delta, u, du = (k.sbuf(f"{t}{turn}")(512) for t in ("delta", "u", "du"))
            k.load(delta)
            k.load(u)
            k.dve("tensor_tensor", du, delta, u)
            acc = k.psum(f"acc{turn}")(512)
            k.dve("memset", acc)
            for s in range(16):
                slot = s % 2
                b, c = (k.sbuf(f"{t}{slot}")(512, rows=1) for t in "BC")
                k.load(b)
                k.load(c)
                da = k.sbuf(f"da{slot}")(512)
                k.act(da, delta, Activation.EXP)
                ones = k.sbuf("ones")(128, rows=1)
                wide = []
                for row in (b, c):
                    wide.append(k.psum(f"bank{bank % 4}")(512))
                    bank += 1
                    k.matmul(wide[-1], ones, row, True)
                dbu, r, rc = (k.sbuf(f"{t}{slot}")(512) for t in ("dbu", "r", "rc"))
                k.dve("tensor_tensor", dbu, du, wide[0])
                k.dve("tensor_tensor_scan", r, da, dbu)
                k.dve("tensor_copy", k.sbuf("carry")(1), k.sbuf(f"r{slot}")(1, at=511))
                k.dve("tensor_tensor", rc, r, wide[1])
                k.dve("tensor_tensor", acc, acc, rc)
            out = k.sbuf(f"out{turn}")(512)
            k.dve("tensor_copy", out, acc)
            k.store(out)
    return k


def convolution() -> Kernel:
    """Autocomp depthwise conv1d, version 6: 8 x 512 x 2048, three taps, in fp32."""
    k = Kernel()
    for i in range(32):
        image, out = k.sbuf(f"image{i % 2}"), k.sbuf(f"out{i % 2}")
        for tile, n in ((image, 2050), (out, 2048)):
            memset = Instruction("memset", Engine.POOL, (tile(n),), (), {"value": 0.0})
            k.emit(memset)
        k.load(image(2048, at=1))
        for block in range(16):
            product = k.sbuf(f"product{block % 2}")
            windows = replace(image(384, at=128 * block), free=((1, 128), (1, 3)))
            taps = replace(k.psum("taps")(3), free=((0, 128), (1, 3)))
            k.dve("tensor_tensor", product(384), windows, taps)
            reduced = replace(product(384), free=((3, 128), (1, 3)))
            k.emit(
                Instruction(
                    "tensor_reduce",
                    Engine.DVE,
                    (out(128, at=128 * block),),
                    (reduced,),
                    {"op": int(AluOp.ADD), "axes": 1},
                )
            )
        k.store(out(2048))
    return k


def published() -> Iterator[tuple[str, Callable[[], Kernel], float]]:
    """(name, kernel, published latency in us)."""
    yield "CS-vadd-fd200", lambda: vector_add(1, 200), 19
    yield "CS-vadd-256k-fd1000", lambda: vector_add(2, 1000), 30
    yield "CS-vadd-256k-fd2000", lambda: vector_add(1, 2000), 34
    yield "NKI-mm-3", blocked_matmul, 6970
    yield "AO-silu", silu, 1333.2
    yield "AO-rope", rope, 4333
    yield "AO-adamw", adamw, 1999.8
    yield "AO-bmm", batched_matmul, 4610.9
    yield "AO-transpose_matmul", transposed_matmul, 9610.3
    yield "AC-3_mamba-7", mamba, 359
    yield "AC-4_conv1d-6", convolution, 461
