"""Running a torch function by the frontend and the reference interpreter."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.torch import import_torch
from neuronir.frontends.torch.export import export
from neuronir.frontends.torch.types import array_of

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}


def imported_results(function: Callable[..., Any], tensors: Sequence[Any]) -> list[Any]:
    """What the imported function gives, as arrays; the module is verified."""
    made = import_torch(export(function, tensors))
    made.module.verify()
    given = [array_of(t) for t in tensors]
    with np.errstate(all="ignore"):
        return interpret(made.module, given)[len(made.mutated) :]


def difference(found: Any, expected: Any) -> str | None:
    """How an array differs from a tensor, None if it does not."""
    wanted = array_of(expected)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} is not {wanted.dtype}{wanted.shape}"
    tolerance = TOLERANCE.get(expected.dtype)
    if tolerance is None:
        return None if np.array_equal(found, wanted) else f"{found} is not {wanted}"
    both = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(both[1][np.isfinite(both[1])])
    # Sums of 16-bit floats are as exact as their largest term.
    scale = 1.0 if expected.dtype.itemsize >= 4 else max(1.0, finite.max(initial=0))
    same = np.allclose(*both, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return None if same else f"{both[0]} is not {both[1]}"


def check(function: Callable[..., Any], *tensors: Any) -> None:
    """The imported function gives what torch gives."""
    with torch.no_grad():
        expected = pytree.tree_leaves(function(*[t.clone() for t in tensors]))
    wanted = [t for t in expected if isinstance(t, torch.Tensor)]
    found = imported_results(function, tensors)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (text := difference(ours, theirs)) is None, text
