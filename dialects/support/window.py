"""Represent views of arrays in the arrays' dimensions, so they can be applied to other arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Window:
    """A view of an array: its start in each dimension, and its own dimensions.

    Each of its dimensions has a length, the dimension of the array along which it runs, and a step.
    """

    starts: tuple[int, ...]
    dimensions: tuple[tuple[int, int, int], ...]

    @staticmethod
    def of(view: Array, whole: Array) -> "Window | None":
        """Return the view of an array in row-major order.

        Returns None if a dimension of the view runs backwards, or along several dimensions of the
        array.
        """
        size = whole.itemsize
        start = (address(view) - address(whole)) // size
        starts = tuple(int(i) for i in np.unravel_index(start, whole.shape))
        ends, dimensions = list(starts), list[tuple[int, int, int]]()
        for length, stride in zip(view.shape, view.strides, strict=True):
            if length == 1 or stride == 0:
                dimensions.append((length, 0, 0))
                continue
            fits = (
                d
                for d, (n, step) in enumerate(zip(whole.shape, whole.strides, strict=True))
                if n > 1 and stride >= step and stride % step == 0
            )
            along = next(fits, None)
            if along is None:
                return None
            step = stride // whole.strides[along]
            ends[along] += (length - 1) * step
            dimensions.append((length, along, step))
        if any(end >= n for end, n in zip(ends, whole.shape, strict=True)):
            return None
        return Window(starts, tuple(dimensions))

    def taken_from(self, array: Array) -> Array:
        """Apply the view to an array with as many dimensions, each of equal length or 1.

        A dimension of the view along an array dimension of length 1 has length 1, too.
        """
        starts = zip(self.starts, array.shape, strict=True)
        inside = array[tuple(slice(i if n > 1 else 0, None) for i, n in starts)]
        shape, strides = list[int](), list[int]()
        for length, along, step in self.dimensions:
            one = step > 0 and array.shape[along] == 1
            shape.append(1 if one else length)
            strides.append(step and step * array.strides[along])
        return as_strided(inside, shape, strides)


def as_strided(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a read-only view with these strides in bytes, for any element type.

    numpy's as_strided uses the name of the type, and rejects that of fp8 e5m2 ('<f1').
    """
    plain = array if array.dtype.isbuiltin == 1 else array.view(f"V{array.itemsize}")
    found = np.lib.stride_tricks.as_strided(plain, shape, strides, writeable=False)
    return found if plain is array else found.view(array.dtype)


def address(array: Any) -> int:
    """Return the offset of its first element."""
    return int(np.asarray(array).__array_interface__["data"][0])
