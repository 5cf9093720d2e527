"""Views of arrays in the arrays' own dimensions, so that the same view can be taken of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Window:
    """A view of an array by the array's dimensions: where it starts in each, and of each of its own
    dimensions the length, the one of the array that it runs along, and by how many places."""

    starts: tuple[int, ...]
    dimensions: tuple[tuple[int, int, int], ...]

    @staticmethod
    def of(view: Array, whole: Array) -> "Window | None":
        """That of a view of an array in row-major order; None where a dimension of the view runs
        backwards, or along several of the array."""
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
        """This view of an array that has as many dimensions, each as long or of length 1; then so
        are those that run along it."""
        starts = zip(self.starts, array.shape, strict=True)
        inside = array[tuple(slice(i if n > 1 else 0, None) for i, n in starts)]
        shape, strides = list[int](), list[int]()
        for length, along, step in self.dimensions:
            one = step > 0 and array.shape[along] == 1
            shape.append(1 if one else length)
            strides.append(step and step * array.strides[along])
        return as_strided(inside, shape, strides)


def as_strided(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """A read-only view with these strides in bytes, of elements of any type.

    numpy's as_strided goes by the name of the type, and that of fp8 e5m2 ('<f1') means nothing to
    it.
    """
    plain = array if array.dtype.isbuiltin == 1 else array.view(f"V{array.itemsize}")
    found = np.lib.stride_tricks.as_strided(plain, shape, strides, writeable=False)
    return found if plain is array else found.view(array.dtype)


def address(array: Any) -> int:
    """Where its first number lies."""
    return int(np.asarray(array).__array_interface__["data"][0])
