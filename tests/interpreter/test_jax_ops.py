"""The interpreter on 1,588 one-primitive programs of jax's own tests, against XLA's results."""

import re

import numpy as np
import pytest

from neuronir.dialects.support.npz import numbered
from tests.corpus import operators
from tests.interpreter.support import Array, judge, run

# Eigenvectors and singular vectors are unique up to a factor, eigenvalues up to their order.
_FACTORS = re.compile(r"lapack_\w(geev|syevd|heevd|gesdd)_ffi")
# With equal keys, an unstable sort may give the other operands in any order.
_TIES = re.compile(r"sort_multiple_arrays_.*isstable_False|approx_top_k_.*bfloat16")


def _families() -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for name in operators.names():
        families.setdefault(name.split("_")[0], []).append(name)
    return families


_FAMILIES = _families()


def _failure(name: str) -> str | None:
    """What is wrong with one program's results, or None."""
    text, entries = operators.text_of(name), operators.entries_of(name)
    args, expected = numbered(entries, "arg"), numbered(entries, "out")
    if _FACTORS.search(text):
        return _compare_factors(run(text, args, name), expected)
    if _TIES.match(name):
        results = run(text, args, name)
        return None if np.array_equal(results[0], expected[0]) else f"{name}: keys differ"
    report = judge(text, args, entries, name)
    return None if report.ok else f"{name}: {report.render()}"


def _compare_factors(results: list[Array], expected: list[Array]) -> str | None:
    """Only what is unique: the magnitudes of eigenvalues and singular values, sorted."""
    fewest = min(array.ndim for array in expected)
    for result, wanted in zip(results, expected, strict=True):
        if result.shape != wanted.shape or result.dtype != wanted.dtype:
            return f"{result.dtype}{result.shape} instead of {wanted.dtype}{wanted.shape}"
        if wanted.ndim == fewest:
            left, right = np.sort(np.abs(result)), np.sort(np.abs(wanted))
            if not np.allclose(left, right, rtol=1e-4, atol=1e-5 * np.max(right, initial=0.0)):
                return "eigenvalues or singular values differ"
    return None


@pytest.mark.parametrize("family", sorted(_FAMILIES))
def test_primitives_agree_with_xla(family: str) -> None:
    failures = [failure for name in _FAMILIES[family] if (failure := _failure(name)) is not None]
    assert not failures, f"{len(failures)} of {len(_FAMILIES[family])}:\n" + "\n".join(failures)
