"""Compute the operators of the vector engines: in fp32, in 32-bit integers (POOL), or on bits."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.semantics.convert import raw, to_f32
from neuronir.dialects.nc.semantics.kernel import SemanticError, Tile

Array = NDArray[Any]
Binary = Callable[[Any, Any], Any]


class Domain(Enum):
    """The domain in which an instruction computes."""

    FLOAT = "fp32"
    SIGNED = "int32"
    UNSIGNED = "uint32"
    BITS = "bits"


BITVEC = frozenset(
    {
        AluOp.BITWISE_AND,
        AluOp.BITWISE_OR,
        AluOp.BITWISE_XOR,
        AluOp.BITWISE_NOT,
        AluOp.SHIFT_LEFT,
        AluOp.SHIFT_RIGHT_LOGICAL,
        AluOp.SHIFT_RIGHT_ARITHMETIC,
    }
)
UNARY = frozenset({AluOp.BITWISE_NOT, AluOp.RSQRT, AluOp.BYPASS})


def domain_of(ops: Sequence[AluOp], engine: Engine, dtypes: Sequence[DType]) -> Domain:
    """Return the domain of `ops` on operands of `dtypes` on `engine`.

    Bit operators work on the bits of operands of equal width. POOL computes exactly in 32-bit
    integers if all operands are integers. Everything else is computed in fp32.
    """
    used = [op for op in ops if op != AluOp.BYPASS]
    bit_ops = [op for op in used if op in BITVEC]
    if bit_ops:
        if len(bit_ops) != len(used):
            names = ", ".join(op.name.lower() for op in used)
            raise SemanticError(f"bit operators cannot be mixed with arithmetic: {names}")
        if len({dtype.size for dtype in dtypes}) > 1:
            raise SemanticError("a bit operator needs operands of one width")
        return Domain.BITS
    integers = all(not dtype.is_float and dtype.size <= 4 for dtype in dtypes)
    if engine == Engine.POOL and integers and AluOp.RSQRT not in used:
        return Domain.UNSIGNED if DType.U32 in dtypes else Domain.SIGNED
    return Domain.FLOAT


def load(tile: Tile, dtype: DType, domain: Domain) -> Array:
    """Convert a tile to the type of `domain`."""
    if domain == Domain.FLOAT:
        return to_f32(tile, dtype)
    if domain == Domain.BITS:
        return raw(tile)
    values = (tile != 0) if dtype == DType.BOOL else tile
    return values.astype(np.int32 if domain == Domain.SIGNED else np.uint32)


def immediate(value: float, domain: Domain, width: int) -> Any:
    """Convert an immediate to the type of `domain`; `width` is the bytes of an element."""
    if domain == Domain.FLOAT:
        return np.float32(value)
    whole = int(value)
    if domain == Domain.BITS:
        unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[width]
        return unsigned(whole & ((1 << (8 * width)) - 1))
    low = whole & 0xFFFFFFFF
    return np.uint32(low) if domain == Domain.UNSIGNED else np.uint32(low).astype(np.int32)


def operator(op: AluOp, domain: Domain) -> Binary:
    """Return the numpy function of `op`; unary operators ignore their second argument."""
    if domain == Domain.FLOAT:
        return _FLOAT[op]
    if domain == Domain.BITS:
        return _BITS[op]
    return _INTEGER[op]


def _compare(function: Callable[[Any, Any], Any]) -> Binary:
    def run(a: Any, b: Any) -> Any:
        return function(a, b).astype(np.asarray(a).dtype)

    return run


def _logical(function: Callable[[Any, Any], Any]) -> Binary:
    def run(a: Any, b: Any) -> Any:
        return function(a != 0, b != 0).astype(np.asarray(a).dtype)

    return run


_SHARED: dict[AluOp, Binary] = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULTIPLY: np.multiply,
    AluOp.MAX: np.maximum,
    AluOp.MIN: np.minimum,
    AluOp.ABS_MAX: lambda a, b: np.maximum(np.abs(a), np.abs(b)),
    AluOp.IS_EQ: _compare(np.equal),
    AluOp.IS_NE: _compare(np.not_equal),
    AluOp.IS_GT: _compare(np.greater),
    AluOp.IS_GE: _compare(np.greater_equal),
    AluOp.IS_LT: _compare(np.less),
    AluOp.IS_LE: _compare(np.less_equal),
    AluOp.LOGICAL_AND: _logical(np.logical_and),
    AluOp.LOGICAL_OR: _logical(np.logical_or),
    AluOp.LOGICAL_XOR: _logical(np.logical_xor),
}


def rsqrt(a: Array) -> Array:
    """Compute 1 / sqrt(a) in fp32, rounded once."""
    return (1.0 / np.sqrt(a.astype(np.float64))).astype(np.float32)


_FLOAT: dict[AluOp, Binary] = {
    **_SHARED,
    AluOp.DIVIDE: np.divide,
    AluOp.POWER: np.power,
    AluOp.MOD: np.fmod,  # the sign of the dividend, as in HLO and C
    AluOp.AVERAGE: lambda a, b: (a + b) * np.float32(0.5),
    AluOp.RSQRT: lambda a, b: rsqrt(a),
}


def _quotient(a: Any, b: Any) -> Any:
    """Divide integers and truncate; x / 0 is all ones, as in XLA."""
    a64, b64 = np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)
    safe = np.where(b64 == 0, 1, b64)
    q = np.where(b64 == 0, -1, np.sign(a64) * np.sign(safe) * (np.abs(a64) // np.abs(safe)))
    return q.astype(np.asarray(a).dtype)


def _remainder(a: Any, b: Any) -> Any:
    """Return the integer remainder with the sign of the dividend; x mod 0 is x, as in XLA."""
    a64, b64 = np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)
    r = np.where(b64 == 0, a64, np.fmod(a64, np.where(b64 == 0, 1, b64)))
    return r.astype(np.asarray(a).dtype)


def _power(a: Any, b: Any) -> Any:
    """Return the integer power modulo 2^32; a negative exponent gives 0 except for bases 1 and
    -1.
    """
    base = np.asarray(a)
    exponent = np.broadcast_to(np.asarray(b).astype(np.int64), np.broadcast(base, b).shape)
    wide = np.broadcast_to(base.astype(np.int64), exponent.shape)
    square = (wide & 0xFFFFFFFF).astype(np.uint32)
    result = np.ones(exponent.shape, np.uint32)
    left = np.where(exponent < 0, 0, exponent)
    while left.any():
        result = np.where(left & 1, result * square, result)
        square = square * square
        left = left >> 1
    unit = np.where(wide == 1, 1, np.where(wide == -1, np.where(exponent & 1, -1, 1), 0))
    return np.where(exponent < 0, unit, result.astype(np.int64)).astype(base.dtype)


_INTEGER: dict[AluOp, Binary] = {
    **_SHARED,
    AluOp.DIVIDE: _quotient,
    AluOp.POWER: _power,
    AluOp.MOD: _remainder,
    AluOp.AVERAGE: lambda a, b: _quotient(a + b, np.asarray(a).dtype.type(2)),
}


def _left(a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    zero = a.dtype.type(0)
    return np.where(b >= bits, zero, np.left_shift(a, np.minimum(b, a.dtype.type(bits - 1))))


def _right(a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    zero = a.dtype.type(0)
    return np.where(b >= bits, zero, np.right_shift(a, np.minimum(b, a.dtype.type(bits - 1))))


def _arithmetic_right(a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    signed = a.view(f"i{a.dtype.itemsize}")
    amount = np.minimum(b, a.dtype.type(bits - 1)).astype(signed.dtype)
    return np.right_shift(signed, amount).view(a.dtype)


_BITS: dict[AluOp, Binary] = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.BITWISE_AND: np.bitwise_and,
    AluOp.BITWISE_OR: np.bitwise_or,
    AluOp.BITWISE_XOR: np.bitwise_xor,
    AluOp.BITWISE_NOT: lambda a, b: np.bitwise_not(a),
    AluOp.SHIFT_LEFT: _left,
    AluOp.SHIFT_RIGHT_LOGICAL: _right,
    AluOp.SHIFT_RIGHT_ARITHMETIC: _arithmetic_right,
}


def reduce_last(values: Array, op: AluOp, domain: Domain) -> Array:
    """Reduce the last axis of `values` with `op`, from the first element to the last."""
    ufunc = _REDUCERS.get(op)
    if domain != Domain.BITS and op in (AluOp.LOGICAL_AND, AluOp.LOGICAL_OR, AluOp.LOGICAL_XOR):
        logical = {
            AluOp.LOGICAL_AND: np.logical_and,
            AluOp.LOGICAL_OR: np.logical_or,
            AluOp.LOGICAL_XOR: np.logical_xor,
        }[op]
        return np.asarray(logical.reduce(values != 0, axis=-1)).astype(values.dtype)
    if op == AluOp.ABS_MAX:
        return np.asarray(np.maximum.reduce(np.abs(values), axis=-1))
    if op == AluOp.AVERAGE:
        total = np.add.reduce(values, axis=-1, dtype=values.dtype)
        return operator(AluOp.DIVIDE, domain)(total, values.dtype.type(values.shape[-1]))  # type: ignore[no-any-return]
    if ufunc is None:
        raise SemanticError(f"no reduction by {op.name.lower()}")
    if ufunc in (np.add, np.multiply, np.subtract):
        return np.asarray(ufunc.reduce(values, axis=-1, dtype=values.dtype))
    return np.asarray(ufunc.reduce(values, axis=-1))


_REDUCERS: dict[AluOp, np.ufunc] = {
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULTIPLY: np.multiply,
    AluOp.MAX: np.maximum,
    AluOp.MIN: np.minimum,
    AluOp.BITWISE_AND: np.bitwise_and,
    AluOp.BITWISE_OR: np.bitwise_or,
    AluOp.BITWISE_XOR: np.bitwise_xor,
}
