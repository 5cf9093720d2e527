"""Evaluate the check operations: no result if the values agree, else an error with the
differences.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from neuronir.dialects.check.ops import ExpectCloseOp, ExpectOp

DEFAULT_TOLERANCE = 1e-5

Array = npt.NDArray[Any]


def mismatch(op: ExpectOp, actual: Array, expected: Array) -> str | None:
    """None when `actual` is as expected; otherwise a line that says how many elements differ, and
    the worst of them."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"got {actual.dtype}{list(actual.shape)}, "
            f"expected {expected.dtype}{list(expected.shape)}"
        )
    wrong = _differs(op, actual, expected)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    error = np.where(wrong, np.nan_to_num(_distance(actual, expected), nan=np.inf), -1.0)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    return (
        f"{count} of {actual.size} elements differ; at {list(worst)} "
        f"got {actual[worst]}, expected {expected[worst]}"
    )


def _wide(array: Array) -> Array:
    """Return a type in which differences can be taken: bfloat16 and booleans do not subtract
    well.
    """
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _distance(actual: Array, expected: Array) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        distance: npt.NDArray[np.float64] = np.abs(_wide(actual) - _wide(expected))
    return distance


def _differs(op: ExpectOp, actual: Array, expected: Array) -> npt.NDArray[np.bool_]:
    if not isinstance(op, ExpectCloseOp):
        both_nan = (actual != actual) & (expected != expected)
        return np.asarray((actual != expected) & ~both_nan)
    rtol = op.rtol.value.data if op.rtol else DEFAULT_TOLERANCE
    atol = op.atol.value.data if op.atol else DEFAULT_TOLERANCE
    near = np.isclose(_wide(actual), _wide(expected), rtol=rtol, atol=atol, equal_nan=True)
    return np.asarray(~near)
