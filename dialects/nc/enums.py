"""Name the engines, memories, data types, functions and operators of a NeuronCore."""

from enum import Enum, IntEnum

import ml_dtypes
import numpy as np


class Space(IntEnum):
    """A memory: the state buffer, the partial-sum buffer, or device memory."""

    SBUF = 0
    PSUM = 1
    HBM = 2


class Engine(IntEnum):
    """An executor of instructions: a compute engine, the sync engine, or a DMA queue.

    Engines below `Engine.DMA0` have instruction streams. `Engine.DMA0` and later values are DMA
    queues 0 to 15 (docs/hardware.md section 2.5). Their transfers are in the streams of the engines
    that trigger them.
    """

    PE = 0
    ACT = 1
    DVE = 2
    POOL = 3
    SP = 4
    DMA0 = 5
    DMA1 = 6
    DMA2 = 7
    DMA3 = 8
    DMA4 = 9
    DMA5 = 10
    DMA6 = 11
    DMA7 = 12
    DMA8 = 13
    DMA9 = 14
    DMA10 = 15
    DMA11 = 16
    DMA12 = 17
    DMA13 = 18
    DMA14 = 19
    DMA15 = 20

    @property
    def is_dma(self) -> bool:
        """Return whether this is a DMA queue."""
        return self >= Engine.DMA0


class Port(Enum):
    """A memory port shared by two engines (docs/hardware.md section 2.2)."""

    PSUM_VECTOR = "psum"  # ACT or DVE, never both at once
    SBUF_VECTOR = "sbuf"  # DVE or POOL, never both at once


class DType(IntEnum):
    """A data type; codes below 16 are those of docs/hardware.md section 6."""

    U64 = 1
    I8 = 2
    U8 = 3
    I16 = 4
    U16 = 5
    BF16 = 6
    F16 = 7
    I32 = 8
    U32 = 9
    F32 = 10
    F32R = 11
    I64 = 12
    F8E3M4 = 13
    F8E4M3 = 14
    F8E5M2 = 15
    TF32 = 16
    BOOL = 17

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """Return the numpy type of one element (tf32 is stored as float32, pred as uint8)."""
        return _NUMPY[self]

    @property
    def size(self) -> int:
        """Return the bytes of one element."""
        return _NUMPY[self].itemsize

    @property
    def is_float(self) -> bool:
        """Return whether this is a floating-point type."""
        return self in _FLOATS


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.U64: np.dtype(np.uint64),
    DType.I8: np.dtype(np.int8),
    DType.U8: np.dtype(np.uint8),
    DType.I16: np.dtype(np.int16),
    DType.U16: np.dtype(np.uint16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F16: np.dtype(np.float16),
    DType.I32: np.dtype(np.int32),
    DType.U32: np.dtype(np.uint32),
    DType.F32: np.dtype(np.float32),
    DType.F32R: np.dtype(np.float32),
    DType.I64: np.dtype(np.int64),
    DType.F8E3M4: np.dtype(ml_dtypes.float8_e3m4),
    DType.F8E4M3: np.dtype(ml_dtypes.float8_e4m3),
    DType.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.TF32: np.dtype(np.float32),
    DType.BOOL: np.dtype(np.uint8),
}
_FLOATS = {
    DType.BF16,
    DType.F16,
    DType.F32,
    DType.F32R,
    DType.TF32,
    DType.F8E3M4,
    DType.F8E4M3,
    DType.F8E5M2,
}


class AluOp(IntEnum):
    """An operator of the vector engines (docs/hardware.md section 3.7)."""

    BYPASS = 0
    ADD = 1
    SUBTRACT = 2
    MULTIPLY = 3
    DIVIDE = 4
    MAX = 5
    MIN = 6
    POWER = 7
    MOD = 8
    AVERAGE = 9
    ABS_MAX = 10
    IS_EQ = 11
    IS_NE = 12
    IS_GT = 13
    IS_GE = 14
    IS_LT = 15
    IS_LE = 16
    LOGICAL_AND = 17
    LOGICAL_OR = 18
    LOGICAL_XOR = 19
    BITWISE_AND = 20
    BITWISE_OR = 21
    BITWISE_XOR = 22
    BITWISE_NOT = 23
    SHIFT_LEFT = 24
    SHIFT_RIGHT_LOGICAL = 25
    SHIFT_RIGHT_ARITHMETIC = 26
    RSQRT = 27


class Activation(IntEnum):
    """A function of the scalar engine (docs/hardware.md section 3.3)."""

    COPY = 0
    SQUARE = 1
    SIGMOID = 2
    RELU = 3
    GELU = 4  # exact, with erf
    GELU_TANH = 5
    SILU = 6
    TANH = 7
    SOFTPLUS = 8
    MISH = 9
    ERF = 10
    EXP = 11
    LOG = 12
    SIN = 13
    ARCTAN = 14
    SQRT = 15
    RSQRT = 16
    RECIPROCAL = 17
    SIGN = 18
    ABS = 19
