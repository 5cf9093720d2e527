"""A matrix product written by hand: a loop over row tiles, two slots deep, on five streams."""

from neuronir.dialects.nc.enums import Activation, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Loop,
    Program,
    Source,
    Update,
    Variable,
    Wait,
)
from tests.streams import triggered

P = 128
B_LOADED, A_LOADED, STORED, PE_DONE, ACT_DONE = 0, (1, 2), (3, 4), 5, 6


def gemm(tiles: int, contraction: int, columns: int) -> Program:
    """c[tiles * 128, columns] (f32) = a[contraction, tiles * 128]^T @ b[contraction, columns].

    a and b are bf16; tiles must be even, contraction a multiple of 128, columns <= 512.
    """
    steps = contraction // P
    rows = tiles * P
    a_bytes, b_bytes = contraction * rows * 2, contraction * columns * 2
    a_hbm, b_hbm, c_hbm = 0, a_bytes, a_bytes + b_bytes
    b_sbuf, a_slot = 0, steps * columns * 2
    c_slot = a_slot + 2 * steps * P * 2

    load_b = Instruction(
        "dma",
        Engine.DMA0,
        (_sbuf(DType.BF16, b_sbuf, (columns, steps), (1, columns)),),
        (_hbm(DType.BF16, Affine(b_hbm), columns * 2, (P * columns, steps), (1, columns)),),
        updates=(Update(B_LOADED, 16),),
    )
    streams: dict[Engine, list[Item]] = {e: [] for e in (Engine.DMA1, Engine.PE)}
    streams |= {e: [] for e in (Engine.ACT, Engine.DMA2)}
    for slot in range(2):
        bank = slot * 2048
        a_at = a_slot + slot * steps * P * 2
        c_at = c_slot + slot * columns * 4
        streams[Engine.DMA1].append(
            Instruction(
                "dma",
                Engine.DMA1,
                (_sbuf(DType.BF16, a_at, (P, steps), (1, P)),),
                (
                    _hbm(
                        DType.BF16,
                        Affine(a_hbm + slot * P * 2, ((0, 2 * P * 2),)),
                        rows * 2,
                        (P * rows, steps),
                        (1, P),
                    ),
                ),
                waits=(Wait(PE_DONE, Affine(slot - 1, ((0, 2),))),),
                updates=(Update(A_LOADED[slot], 16),),
                source=1,
            )
        )
        for k in range(steps):
            waits: tuple[Wait, ...] = ()
            if k == 0:
                waits = (
                    Wait(A_LOADED[slot], Affine(16, ((0, 16),))),
                    Wait(ACT_DONE, Affine(slot - 1, ((0, 2),))),
                )
                if slot == 0:
                    waits += (Wait(B_LOADED, Affine(16)),)
            streams[Engine.PE].append(
                Instruction(
                    "matmul",
                    Engine.PE,
                    (_psum(bank, columns),),
                    (
                        _sbuf(DType.BF16, a_at + k * P * 2, (1, P)),
                        _sbuf(DType.BF16, b_sbuf + k * columns * 2, (1, columns)),
                    ),
                    {"accumulate": int(k > 0)},
                    waits,
                    (Update(PE_DONE),) if k == steps - 1 else (),
                    2,
                )
            )
        streams[Engine.ACT].append(
            Instruction(
                "activation",
                Engine.ACT,
                (_sbuf(DType.F32, c_at, (1, columns)), None),
                (_psum(bank, columns), None, None),
                {"func": int(Activation.COPY), "scale": 1.0, "bias": 0.0},
                (
                    Wait(PE_DONE, Affine(slot + 1, ((0, 2),))),
                    Wait(STORED[slot], Affine(0, ((0, 16),))),
                ),
                (Update(ACT_DONE),),
                2,
            )
        )
        streams[Engine.DMA2].append(
            Instruction(
                "dma",
                Engine.DMA2,
                (
                    _hbm(
                        DType.F32,
                        Affine(c_hbm + slot * P * columns * 4, ((0, 2 * P * columns * 4),)),
                        columns * 4,
                        (1, columns),
                    ),
                ),
                (_sbuf(DType.F32, c_at, (1, columns)),),
                waits=(Wait(ACT_DONE, Affine(slot + 1, ((0, 2),))),),
                updates=(Update(STORED[slot], 16),),
                source=3,
            )
        )
    looped: dict[Engine, list[Item]] = {
        engine: [Loop(tiles // 2, items)] for engine, items in streams.items()
    }
    return Program(
        machine="trn1",
        entry="main",
        streams={"main": triggered({Engine.DMA0: [load_b], **looped})},
        variables=[
            Variable("a", "input", a_bytes, a_hbm, (contraction, rows), DType.BF16, (), 0),
            Variable("b", "input", b_bytes, b_hbm, (contraction, columns), DType.BF16, (), 1),
            Variable("c", "output", rows * columns * 4, c_hbm, (rows, columns), DType.F32, (), 0),
        ],
        sources=[
            Source("parameter.2", file="gemm.py", line=3),
            Source("parameter.1", file="gemm.py", line=2),
            Source("dot.3", "jit(f)/dot_general", "gemm.py", 4, "dot"),
            Source("tuple.4", file="gemm.py", line=5),
        ],
        semaphores=7,
    )


def _sbuf(dtype: DType, address: int, *free: tuple[int, int]) -> AccessPattern:
    return AccessPattern(Space.SBUF, dtype, Affine(address), 0, P, free)


def _psum(address: int, columns: int) -> AccessPattern:
    return AccessPattern(Space.PSUM, DType.F32, Affine(address), 0, P, ((1, columns),))


def _hbm(dtype: DType, address: Affine, row: int, *free: tuple[int, int]) -> AccessPattern:
    return AccessPattern(Space.HBM, dtype, address, 0, P, free, row)
