"""Represent the combiner of a reduction, applied to whole arrays at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, is_complex, is_float

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@dataclass(frozen=True)
class Reducer:
    """Combines n accumulated values with n new values.

    `kind` is the opcode if the combiner is a single op ("add", "maximum" ...), "second" if it
    returns the new value, else None. `function` takes 2n arrays (accumulated, then new) and returns
    n arrays; it works elementwise on arrays of any equal shape.
    """

    function: Callable[..., tuple[Array, ...]]
    kind: str | None = None

    def ufunc(self, dtype: np.dtype[Any]) -> np.ufunc | None:
        """Return numpy's function of this kind for elements of `dtype`, or None if it has none.

        Products of complex numbers have none: numpy's depend on the processor.
        """
        if self.kind is None or (self.kind == "multiply" and is_complex(dtype)):
            return None
        return _UFUNCS.get(self.kind)

    def apply(self, left: Sequence[Array], right: Sequence[Array]) -> tuple[Array, ...]:
        """Combine left with right elementwise."""
        results = self.function(*left, *right)
        shape = np.broadcast_shapes(left[0].shape, right[0].shape)
        return tuple(np.broadcast_to(result, shape) for result in results)


def identity(kind: str | None, dtype: np.dtype[Any]) -> Array | None:
    """Return the identity element of `kind` in `dtype`, or None if it has none."""
    if kind in ("add", "or", "xor"):
        return np.zeros((), dtype)
    if kind == "multiply":
        return np.ones((), dtype)
    if kind == "and":
        return np.array(-1).astype(dtype) if dtype != np.bool_ else np.ones((), dtype)
    if kind in ("maximum", "minimum"):
        low = kind == "maximum"
        if dtype == np.bool_:
            return np.array(not low)
        if is_float(dtype):
            return np.array(-np.inf if low else np.inf).astype(dtype)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return np.array(limits.min if low else limits.max, dtype)
    return None
