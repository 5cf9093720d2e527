"""Define how large arrays are computed from others: scaled, shifted and cast (lazy.py)."""

import mmap
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.support.window import Window, address

Array = NDArray[Any]
Part = tuple[slice | int, ...]
"""The index of a part of an array."""

_PIECE = 1 << 17  # elements that are computed together, so that they fit in a cache
_BUFFER = 256  # elements of numpy's buffer, instead of 8192
_SPACE = 1 << 26  # bytes of address space that are reserved at once


@dataclass(frozen=True, eq=False)
class Places:
    """Positions in the row-major order of arrays, with cached positions of operands."""

    numbers: NDArray[np.int64]
    _of_steps: dict[tuple[tuple[int, ...], ...], NDArray[Any]] = field(default_factory=dict)

    def of_step(self, shape: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[Any]:
        """Return the row-major positions of a step's values for these positions of the array."""
        known = self._of_steps.get((shape, sizes))
        if known is None:
            known = self._of_steps[shape, sizes] = self._index(shape, sizes)
        return known

    def _index(self, shape: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[Any]:
        small = prod(shape) < 1 << 32  # a cheaper division
        places = self.numbers.astype(np.uint32) if small else self.numbers
        index = np.zeros_like(places)
        for d, size in enumerate(sizes):
            if size > 1:
                along = places // max(1, prod(shape[d + 1 :]))
                if d:
                    along -= along // size * size
                index = index * size + along
        return index


class Maker(ABC):
    """Computes an array of `shape` and `dtype` in row-major order.

    `template` is an array like it that takes only address space. `copies` means that nothing is
    computed.
    """

    copies = False

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.template = template(shape, dtype)
        self._made: weakref.ref[Array] | None = None

    def made(self) -> Array:
        """Return the elements, existing or newly computed."""
        known = None if self._made is None else self._made()
        if known is None:
            known = np.empty(self.shape, self.dtype)
            self.write(known)
            known.flags.writeable = False
            self._made = weakref.ref(known)
        return known

    @abstractmethod
    def write(self, out: Array) -> None:
        """Write the elements to an array of the same shape and type."""

    @abstractmethod
    def sample(self, places: Places) -> Array:
        """Return the elements at these positions."""

    def pieces(self) -> Iterator[Array]:
        """Yield the elements in row-major order; pieces stay valid as in a stream (output.py)."""
        yield self.made()

    def same(self, other: "Maker") -> bool:
        """Return whether another maker certainly has the same elements, without computing any."""
        return self is other


@dataclass(frozen=True)
class Step:
    """An operation between an array and values with as many dimensions, each of equal length or
    1.
    """

    ufunc: np.ufunc
    numbers: Array

    def same(self, other: "Step") -> bool:
        """Return whether another step does the same."""
        return self.ufunc is other.ufunc and np.array_equal(self.numbers, other.numbers)


class Recipe(Maker):
    """`base` after `steps` (np.multiply, np.subtract), rounded to its type each time, then cast.

    The final type is `dtype`.
    """

    def __init__(self, base: Array, steps: tuple[Step, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(base.shape, dtype)
        self.base = base
        self.steps = steps

    def write(self, out: Array) -> None:
        """Compute the elements part by part, in the memory order of `base`."""
        order = sorted(range(self.base.ndim), key=lambda d: -self.base.strides[d])
        out = out.transpose(order)
        with _quick_steps():
            for part, numbers in self._computed(order):
                out[part] = numbers

    def pieces(self) -> Iterator[Array]:
        """Yield the elements of some rows at a time."""
        computed = self._computed(range(self.base.ndim))
        while True:
            with _quick_steps():
                found = next(computed, None)
                rounded = None if found is None else found[1].astype(self.dtype)
            if rounded is None:
                return
            yield rounded

    def _computed(self, order: Sequence[int]) -> Iterator[tuple[Part, Array]]:
        """Yield the index and elements of each part of the array with permuted dimensions.

        The elements are not rounded to `dtype` yet. The caller must silence numpy warnings.
        """
        base, room = self.base.transpose(order), np.empty(_PIECE, self.base.dtype)
        factors = [np.broadcast_to(s.numbers, self.shape).transpose(order) for s in self.steps]
        for part in _parts(base.shape):
            numbers = base[part]
            out = room[: numbers.size].reshape(numbers.shape)
            for step, factor in zip(self.steps, factors, strict=True):
                numbers = step.ufunc(numbers, factor[part], out=out)
            yield part, numbers

    def sample(self, places: Places) -> Array:
        """Compute the elements at these positions only."""
        if self.base.flags.c_contiguous:
            found = self.base.reshape(-1)[places.numbers]
        else:
            found = self.base[np.unravel_index(places.numbers, self.shape)]
        with np.errstate(all="ignore"):
            for step in self.steps:
                index = places.of_step(self.shape, step.numbers.shape)
                found = step.ufunc(found, step.numbers.reshape(-1)[index])
            return found.astype(self.dtype)

    def cut(self, window: Window) -> "Recipe":
        """Return a recipe for that part of the elements."""
        steps = [Step(step.ufunc, window.taken_from(step.numbers)) for step in self.steps]
        return Recipe(window.taken_from(self.base), tuple(steps), self.dtype)

    def same(self, other: Maker) -> bool:
        """Return whether another recipe is equal."""
        return (
            isinstance(other, Recipe)
            and _same_view(self.base, other.base)
            and self.dtype == other.dtype
            and len(self.steps) == len(other.steps)
            and all(a.same(b) for a, b in zip(self.steps, other.steps, strict=True))
        )


def _same_view(a: Array, b: Array) -> bool:
    """Return whether two arrays are views of the same elements in the same order."""
    same = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    return a is b or (same and address(a) == address(b))


def _parts(shape: tuple[int, ...]) -> Iterator[Part]:
    """Return where to split an array into parts that fit in a cache, in row-major order."""
    if not shape:
        yield ()
        return
    inner = prod(shape[1:])
    if inner > _PIECE:
        yield from ((i, *part) for i in range(shape[0]) for part in _parts(shape[1:]))
    else:
        rows = max(1, _PIECE // max(1, inner))
        yield from ((slice(i, i + rows),) for i in range(0, shape[0], rows))


@contextmanager
def _quick_steps() -> Iterator[None]:
    """Silence numpy about rounding, and speed up rows with one value each.

    If rows are shorter than numpy's buffer, numpy first fills the buffer with copies of the values.
    The results of elementwise operations do not depend on the buffer.
    """
    with np.errstate(all="ignore"):
        before = np.setbufsize(_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)


_spaces: list[mmap.mmap] = []


def template(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array that takes address space, but no memory until it is read."""
    size = max(1, prod(shape) * dtype.itemsize)
    if not _spaces or len(_spaces[-1]) < size:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        _spaces[:] = [mmap.mmap(-1, max(size, _SPACE), flags=flags, prot=mmap.PROT_READ)]
    return np.ndarray(shape, dtype, _spaces[-1])
