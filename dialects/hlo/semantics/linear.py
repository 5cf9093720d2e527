"""Compute matrix products: dot with batch and contracting dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.convert import convert
from neuronir.dialects.hlo.semantics.numeric import Array, accumulator, is_complex, is_integer

# Integer products up to this magnitude are exact in f64, where BLAS is far faster.
_EXACT_IN_F64 = 2**53


def accumulation_type(
    lhs: np.dtype[Any], rhs: np.dtype[Any], result: np.dtype[Any]
) -> np.dtype[Any]:
    """Return the accumulation type of a dot or convolution of these types (f32 for bf16)."""
    return np.result_type(accumulator(lhs), accumulator(rhs), accumulator(result))


def matmul(lhs: Array, rhs: Array, dtype: np.dtype[Any]) -> Array:
    """Multiply [..., M, K] by [..., K, N] to [..., M, N]; operands and sums are in `dtype`."""
    if is_integer(dtype) and lhs.size and rhs.size:
        largest = float(np.abs(lhs.astype(np.float64)).max() * np.abs(rhs.astype(np.float64)).max())
        if largest * lhs.shape[-1] < _EXACT_IN_F64:
            exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
            return np.asarray(exact).astype(np.int64).astype(dtype)
    if dtype == np.bool_:
        return np.asarray(np.matmul(lhs.astype(np.float32), rhs.astype(np.float32)) != 0)
    if is_complex(dtype):
        return _complex_matmul(lhs, rhs, dtype)
    return np.asarray(np.matmul(convert(lhs, dtype), convert(rhs, dtype)))


def _complex_matmul(lhs: Array, rhs: Array, dtype: np.dtype[Any]) -> Array:
    """Multiply parts in f64, where products of f32 are exact: BLAS may fuse what it adds, which
    depends on the processor."""
    a, b, c, d = (np.asarray(x, np.float64) for x in (lhs.real, lhs.imag, rhs.real, rhs.imag))
    result = np.empty(
        (*np.broadcast_shapes(a.shape[:-2], c.shape[:-2]), a.shape[-2], c.shape[-1]), dtype
    )
    result.real = np.matmul(a, c) - np.matmul(b, d)
    result.imag = np.matmul(a, d) + np.matmul(b, c)
    return result


def dot(
    lhs: Array,
    rhs: Array,
    *,
    lhs_batch: Sequence[int] = (),
    rhs_batch: Sequence[int] = (),
    lhs_contracting: Sequence[int],
    rhs_contracting: Sequence[int],
    dtype: np.dtype[Any],
) -> Array:
    """Return the product [batch..., lhs free..., rhs free...] in `dtype`, accumulated in f32 or
    wider.
    """
    lhs_free = [i for i in range(lhs.ndim) if i not in {*lhs_batch, *lhs_contracting}]
    rhs_free = [i for i in range(rhs.ndim) if i not in {*rhs_batch, *rhs_contracting}]
    batch = [lhs.shape[i] for i in lhs_batch]
    rows = [lhs.shape[i] for i in lhs_free]
    columns = [rhs.shape[i] for i in rhs_free]
    k = int(np.prod([lhs.shape[i] for i in lhs_contracting], dtype=np.int64))
    m = int(np.prod(rows, dtype=np.int64))
    n = int(np.prod(columns, dtype=np.int64))
    left = lhs.transpose([*lhs_batch, *lhs_free, *lhs_contracting]).reshape([*batch, m, k])
    right = rhs.transpose([*rhs_batch, *rhs_contracting, *rhs_free]).reshape([*batch, k, n])
    product = matmul(left, right, accumulation_type(lhs.dtype, rhs.dtype, dtype))
    return convert(product.reshape([*batch, *rows, *columns]), dtype)
