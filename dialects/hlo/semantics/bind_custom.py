"""Bind custom calls with public semantics: TopK, and the LAPACK routines that jax calls."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TupleType
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.semantics import linear_algebra
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    shape_and_dtype,
    text,
    unsupported,
)
from neuronir.dialects.hlo.semantics.sorting import top_k

_LAPACK = re.compile(r"lapack_[sdcz]([a-z]+)_ffi")
_CHARACTER = re.compile(r"(\w+) = (\d+) : ui8")
# LAPACK's letters for op(a).
_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}

Options = dict[str, str]


def _options(op: Operation) -> Options:
    """Return the one-letter options of a LAPACK call: `uplo = 76 : ui8` is {"uplo": "L"}."""
    config = op.attributes.get("hlo.backend_config") or op.properties.get("backend_config")
    source = config.data if isinstance(config, StringAttr) else str(config or "")
    return {name: chr(int(code)) for name, code in _CHARACTER.findall(source)}


@binder("hlo.custom_call")
def _custom_call(op: Operation) -> Bound:
    target = text(op, "call_target_name")
    if target == "TopK":
        return _top_k(op)
    match = _LAPACK.fullmatch(target)
    routine = _ROUTINES.get(match.group(1)) if match else None
    if routine is None:
        raise unsupported(op, f"custom call target '{target}' has no reference semantics")
    return routine(op, _options(op))


def _elements(op: Operation) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    type_ = op.results[0].type
    parts: list[Attribute] = list(type_.types.data) if isinstance(type_, TupleType) else [type_]
    return [shape_and_dtype(part) for part in parts]


def _top_k(op: Operation) -> Bound:
    k = _elements(op)[0][0][-1]
    return lambda x: top_k(x, k)


def _success(a: Array) -> Array:
    """Return LAPACK's info for a batch of matrices without errors."""
    return np.zeros(a.shape[:-2], np.int32)


def _potrf(op: Operation, options: Options) -> Bound:
    lower = options.get("uplo", "L") == "L"

    def run(a: Array) -> Value:
        factor = linear_algebra.cholesky(a, lower=lower)
        bad = np.isnan(np.abs(factor)).any(axis=(-1, -2))
        # The other triangle is unchanged.
        written = np.tri(a.shape[-1], dtype=np.bool_)
        written = written if lower else written.T
        return np.where(written, factor, a), np.asarray(bad).astype(np.int32)

    return run


def _trsm(op: Operation, options: Options) -> Bound:
    return lambda a, b: linear_algebra.triangular_solve(
        a,
        b,
        left_side=options.get("side", "L") == "L",
        lower=options.get("uplo", "L") == "L",
        unit_diagonal=options.get("diag", "N") == "U",
        transpose_a=_TRANSPOSES[options.get("trans_x", "N")],
    )


def _getrf(op: Operation, options: Options) -> Bound:
    return lambda a: linear_algebra.lu(a)


def _geqrf(op: Operation, options: Options) -> Bound:
    return lambda a: linear_algebra.householder_qr(a)


def _orgqr(op: Operation, options: Options) -> Bound:
    return lambda factors, tau: linear_algebra.householder_product(factors, tau)


def _syevd(op: Operation, options: Options) -> Bound:
    lower = options.get("uplo", "L") == "L"

    def run(a: Array) -> Value:
        values, vectors = linear_algebra.eigen_hermitian(a, lower=lower)
        return vectors, values, _success(a)

    return run


def _geev(op: Operation, options: Options) -> Bound:
    split = len(_elements(op)) == 5  # Real matrices return the real and imaginary parts separately.

    def run(a: Array) -> Value:
        values, left, right = linear_algebra.eigen_general(a)
        if split:
            return values.real, values.imag, left, right, _success(a)
        return values, left, right, _success(a)

    return run


def _gesdd(op: Operation, options: Options) -> Bound:
    mode = options.get("mode", "A")
    _, _, (u_shape, u_type), (v_shape, v_type), _ = _elements(op)

    def run(a: Array) -> Value:
        results = linear_algebra.singular_values(a, full=mode == "A", vectors=mode != "N")
        if mode == "N":
            # LAPACK does not normalise the vectors.
            return a, results[0], np.zeros(u_shape, u_type), np.zeros(v_shape, v_type), _success(a)
        s, u, vh = results
        return a, s, u, vh, _success(a)

    return run


_ROUTINES: dict[str, Callable[[Operation, Options], Bound]] = {
    "geev": _geev,
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "heevd": _syevd,
    "orgqr": _orgqr,
    "potrf": _potrf,
    "syevd": _syevd,
    "trsm": _trsm,
    "ungqr": _orgqr,
}
