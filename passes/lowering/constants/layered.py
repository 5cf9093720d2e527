"""Represent arrays with one version per layer of a repetition, which numpy processes together."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from neuronir.dialects.support.lazy import LazyArray

Array = np.ndarray[Any, Any]


class LayersDiffer(Exception):
    """Raised if similar layers cannot share instructions; the message says why."""


class Layered(NDArrayOperatorsMixin):
    """One array per layer, of equal shape and type, that behaves like one array.

    numpy functions and operators return a Layered of the results. Code that needs one value or one
    decision for all layers raises LayersDiffer if they disagree, and so does any implicit
    conversion to a plain array.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.arrays = list(arrays)

    @staticmethod
    def of(arrays: Sequence[Array]) -> Array:
        """Return the arrays as one, for code that only handles plain arrays."""
        return cast(Array, Layered(arrays))

    def __array__(self, *_: object, **__: object) -> Array:
        raise LayersDiffer("an operation takes one plain array")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return self._called(lambda i: getattr(ufunc, method), inputs, more)

    def __array_function__(self, func: Any, _: Any, args: Any, more: Any) -> Any:
        return self._called(lambda i: func, args, more)

    def _called(self, function: Callable[[int], Any], args: Any, more: Any) -> Any:
        """Apply the function for each layer, with the arrays of that layer."""
        if _has_layers(args) or _has_layers(more):
            return self._each(lambda i: function(i)(*_pick(args, i), **_pick(more, i)))
        return self._each(lambda i: function(i)(*args, **more))

    def _each(self, apply: Callable[[int], Any]) -> Any:
        found = [apply(i) for i in range(len(self.arrays))]
        if isinstance(found[0], (np.ndarray, LazyArray)) and found[0].ndim:
            return Layered(found)
        first = found[0]
        if any(other != first for other in found[1:]):
            raise LayersDiffer("a choice depends on the numbers of a layer")
        return first

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("data", "flat", "base", "ctypes", "tobytes", "tolist"):
            raise LayersDiffer(f"an operation takes the {name} of one plain array")
        found = getattr(self.arrays[0], name)
        if not callable(found):
            if isinstance(found, (np.ndarray, LazyArray)):
                return self._each(lambda i: getattr(self.arrays[i], name))
            return found  # shape, dtype and similar attributes
        return lambda *args, **more: self._called(
            lambda i: getattr(self.arrays[i], name), args, more
        )

    def __getitem__(self, index: Any) -> Any:
        return self._called(lambda i: self.arrays[i].__getitem__, (index,), {})

    def __len__(self) -> int:
        return len(self.arrays[0])


def layers_of(array: object) -> list[Array] | None:
    """Return the array of each layer; None for a plain array."""
    return array.arrays if isinstance(array, Layered) else None


def _has_layers(value: Any) -> bool:
    """Return whether `value` contains a Layered."""
    if isinstance(value, (tuple, list)):
        return any(_has_layers(v) for v in value)
    if isinstance(value, dict):
        return any(_has_layers(v) for v in value.values())
    return isinstance(value, Layered)


def _pick(value: Any, layer: int) -> Any:
    """Replace every Layered in `value` by the array of one layer."""
    if isinstance(value, Layered):
        return value.arrays[layer]
    if isinstance(value, (tuple, list)):
        return type(value)(_pick(v, layer) for v in value)
    if isinstance(value, dict):
        return {k: _pick(v, layer) for k, v in value.items()}
    return value
