"""Hand-built instructions and programs for the tests of the timing model."""

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
from tests.streams import triggered


def sbuf(
    address: int, elements: int, partitions: int = 128, dtype: DType = DType.F32
) -> AccessPattern:
    """A contiguous access in SBUF."""
    return AccessPattern(Space.SBUF, dtype, Affine(address), 0, partitions, ((1, elements),))


def psum(
    address: int, elements: int, partitions: int = 128, dtype: DType = DType.F32
) -> AccessPattern:
    """A contiguous access in PSUM."""
    return AccessPattern(Space.PSUM, dtype, Affine(address), 0, partitions, ((1, elements),))


def hbm(address: int, elements: int, rows: int = 128, dtype: DType = DType.F32) -> AccessPattern:
    """Rows of HBM, far enough apart that they do not merge."""
    pitch = 2 * elements * dtype.size
    return AccessPattern(Space.HBM, dtype, Affine(address), 0, rows, ((1, elements),), pitch)


def matmul(n: int = 512, m: int = 128, k: int = 128, dtype: DType = DType.BF16) -> Instruction:
    """dst[m, n] = stationary[k, m]^T @ moving[k, n]."""
    return Instruction(
        "matmul", Engine.PE, (psum(0, n, m),), (sbuf(0, m, k, dtype), sbuf(8192, n, k, dtype))
    )


def act(src: AccessPattern, dst: AccessPattern, func: Activation = Activation.COPY) -> Instruction:
    """dst = func(src)."""
    return Instruction("activation", Engine.ACT, (dst,), (src, None, None), {"func": int(func)})


def add(lhs: AccessPattern, rhs: AccessPattern, dst: AccessPattern) -> Instruction:
    """dst = lhs + rhs on DVE."""
    return Instruction("tensor_tensor", Engine.DVE, (dst,), (lhs, rhs), {"op": int(AluOp.ADD)})


def dma(dst: AccessPattern, src: AccessPattern, queue: int = 0) -> Instruction:
    """dst = src."""
    return Instruction("dma", Engine(Engine.DMA0 + queue), (dst,), (src,))


def after(instruction: Instruction, *waits: tuple[int, int]) -> Instruction:
    """The instruction, waiting for (semaphore, value) pairs."""
    instruction.waits = tuple(Wait(s, Affine(v)) for s, v in waits)
    return instruction


def raising(instruction: Instruction, semaphore: int, amount: int = 1) -> Instruction:
    """The instruction, adding to a semaphore at completion."""
    instruction.updates = (Update(semaphore, amount),)
    return instruction


def program(streams: dict[Engine, list[Item]], semaphores: int = 0) -> Program:
    """A program of one function."""
    main = triggered(streams)
    return Program("trn1", "main", {"main": main}, [], [Source("op")], {}, semaphores)
