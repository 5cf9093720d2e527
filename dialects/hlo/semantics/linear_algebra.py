"""Compute Cholesky factors, triangular solves, and the LAPACK routines that jax calls on the
CPU.
"""

from math import prod

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, widen


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def _matrices(a: Array) -> Array:
    """Return a batch of matrices in one dimension; there may be none, or they may be empty."""
    return a.reshape(prod(a.shape[:-2]), *a.shape[-2:])


def cholesky(a: Array, *, lower: bool = True) -> Array:
    """Return the triangular factor of each matrix; NaN if it is not positive definite."""
    wide = widen(a)
    batch = _matrices(np.ascontiguousarray(wide if lower else _adjoint(wide)))
    result = np.empty_like(batch)
    for i, matrix in enumerate(batch):
        # Only the lower triangle is read.
        try:
            result[i] = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            result[i] = np.nan
    factor = result.reshape(a.shape)
    return (factor if lower else _adjoint(factor)).astype(a.dtype)


def triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool,
    lower: bool,
    unit_diagonal: bool,
    transpose_a: str,
) -> Array:
    """Solve op(a) x = b (left side) or x op(a) = b; op is NO_TRANSPOSE, TRANSPOSE or ADJOINT."""
    matrix, right = widen(a), widen(b)
    if transpose_a == "TRANSPOSE":
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
    elif transpose_a == "ADJOINT":
        matrix, lower = _adjoint(matrix), not lower
    if not left_side:
        # x a = b is equivalent to a^T x^T = b^T.
        matrix, right, lower = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2), not lower
    x = np.array(right)
    n = matrix.shape[-1]
    for i in range(n) if lower else range(n - 1, -1, -1):
        solved = slice(0, i) if lower else slice(i + 1, n)
        known = np.matmul(matrix[..., i : i + 1, solved], x[..., solved, :])
        row = x[..., i : i + 1, :] - known
        x[..., i : i + 1, :] = row if unit_diagonal else row / matrix[..., i : i + 1, i : i + 1]
    return (x if left_side else np.swapaxes(x, -1, -2)).astype(b.dtype)


def lu(a: Array) -> tuple[Array, Array, Array]:
    """Factor with row pivoting: return LU in one matrix, 1-based s32 pivots, and LAPACK's info."""
    factors = np.array(a)
    batch = _matrices(factors)
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    pivots = np.zeros((batch.shape[0], steps), np.int32)
    info = np.zeros(batch.shape[0], np.int32)
    for index, matrix in enumerate(batch):
        for j in range(steps):
            # LAPACK measures a complex pivot by |real| + |imag|.
            size = np.abs(matrix[j:, j].real) + np.abs(matrix[j:, j].imag)
            pivot = j + int(np.argmax(size))
            pivots[index, j] = pivot + 1
            matrix[[j, pivot]] = matrix[[pivot, j]]
            if matrix[j, j] == 0:
                info[index] = info[index] or j + 1
                continue
            matrix[j + 1 :, j] /= matrix[j, j]
            matrix[j + 1 :, j + 1 :] -= np.outer(matrix[j + 1 :, j], matrix[j, j + 1 :])
    lead = a.shape[:-2]
    return batch.reshape(a.shape), pivots.reshape(*lead, steps), info.reshape(lead)


def householder_qr(a: Array) -> tuple[Array, Array]:
    """Compute LAPACK's geqrf: R above the reflectors, and their scales tau."""
    batch = _matrices(a)
    factors, taus = np.empty_like(batch), np.empty((batch.shape[0], min(a.shape[-2:])), a.dtype)
    for i, matrix in enumerate(batch):
        # numpy returns LAPACK's column-major matrix, which is the transpose.
        h, taus[i] = np.linalg.qr(matrix, mode="raw")
        factors[i] = h.T
    return factors.reshape(a.shape), taus.reshape(*a.shape[:-2], taus.shape[1])


def householder_product(factors: Array, tau: Array) -> Array:
    """Compute LAPACK's orgqr / ungqr: the first columns of the product of the reflectors."""
    rows, columns = factors.shape[-2:]
    q = np.broadcast_to(np.eye(rows, columns, dtype=factors.dtype), factors.shape).copy()
    for i in range(tau.shape[-1] - 1, -1, -1):
        v = np.array(factors[..., :, i : i + 1])
        v[..., :i, :] = 0
        v[..., i, :] = 1
        q = q - tau[..., i, None, None] * np.matmul(v, np.matmul(_adjoint(v), q))
    return q


def eigen_hermitian(a: Array, *, lower: bool) -> tuple[Array, Array]:
    """Return ascending real eigenvalues and their eigenvectors (columns), reading one triangle of
    `a`.
    """
    values, vectors = np.linalg.eigh(a, UPLO="L" if lower else "U")
    return values, vectors


def eigen_general(a: Array) -> tuple[Array, Array, Array]:
    """Return complex eigenvalues and left and right unit eigenvectors (columns).

    The largest component of each eigenvector is real. The left vectors are the columns of the
    adjoint of the inverse of the right ones.
    """
    complex_type = np.result_type(a.dtype, np.complex64)
    values, right = np.linalg.eig(a)
    left = _adjoint(np.linalg.inv(right.astype(np.complex128))) if a.size else right
    left = left / np.linalg.norm(left, axis=-2, keepdims=True) if a.size else left
    return (
        values.astype(complex_type),
        _real_largest(left).astype(complex_type),
        _real_largest(right.astype(complex_type)),
    )


def _real_largest(vectors: Array) -> Array:
    """Multiply each column by a phase so that its largest component is real, as LAPACK does."""
    if vectors.size == 0:
        return vectors
    at = np.argmax(np.abs(vectors), axis=-2, keepdims=True)
    largest = np.take_along_axis(vectors, at, axis=-2)
    return np.asarray(vectors * (np.conj(largest) / np.abs(largest)))


def singular_values(a: Array, *, full: bool, vectors: bool) -> tuple[Array, ...]:
    """Return (s,) or (s, u, vh), with the largest singular value first."""
    if not vectors:
        return (np.linalg.svd(a, compute_uv=False),)
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    return s, u, vh
