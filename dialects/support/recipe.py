"""How large arrays are made, from others that are scaled, shifted and cast (lazy.py)."""

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

_PIECE = 1 << 17  # elements that are computed together: what a cache holds
_BUFFER = 256  # elements of numpy's buffer, in place of 8192
_SPACE = 1 << 26  # bytes of address space that are taken at once


@dataclass(frozen=True, eq=False)
class Places:
    """Places in the row-major order of arrays. In the steps of recipes of the same shape the same
    numbers belong to them, which are looked for once."""

    numbers: NDArray[np.int64]
    _of_steps: dict[tuple[tuple[int, ...], ...], NDArray[Any]] = field(default_factory=dict)

    def of_step(self, shape: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[Any]:
        """Where, in row-major order, the numbers of a step with dimensions `sizes` lie that belong
        to these places of an array of this shape."""
        known = self._of_steps.get((shape, sizes))
        if known is None:
            known = self._of_steps[shape, sizes] = self._index(shape, sizes)
        return known

    def _index(self, shape: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[Any]:
        small = prod(shape) < 1 << 32  # which divides faster
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
    """What makes an array of `shape` and `dtype` in row-major order.

    `template` is an array like it that takes address space only; `copies` says that it computes
    nothing.
    """

    copies = False

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.template = template(shape, dtype)
        self._made: weakref.ref[Array] | None = None

    def made(self) -> Array:
        """The numbers; those that somebody holds already, or new ones."""
        known = None if self._made is None else self._made()
        if known is None:
            known = np.empty(self.shape, self.dtype)
            self.write(known)
            known.flags.writeable = False
            self._made = weakref.ref(known)
        return known

    @abstractmethod
    def write(self, out: Array) -> None:
        """Write the numbers into an array of the same shape and type."""

    @abstractmethod
    def sample(self, places: Places) -> Array:
        """The numbers at these places."""

    def pieces(self) -> Iterator[Array]:
        """The numbers in row-major order; each piece stays as those of a stream do (output.py)."""
        yield self.made()

    def same(self, other: "Maker") -> bool:
        """Whether another one makes the same numbers, as far as that is seen without making all
        of them."""
        return self is other


@dataclass(frozen=True)
class Step:
    """What is done with each number of an array and one of `numbers`, which has as many dimensions,
    each as long as the array's or of length 1."""

    ufunc: np.ufunc
    numbers: Array

    def same(self, other: "Step") -> bool:
        """Whether another step does the same."""
        return self.ufunc is other.ufunc and np.array_equal(self.numbers, other.numbers)


class Recipe(Maker):
    """`base` after `steps` (np.multiply, np.subtract) in their order, rounded to the type of `base`
    each time, and then rounded to `dtype`.
    """

    def __init__(self, base: Array, steps: tuple[Step, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(base.shape, dtype)
        self.base = base
        self.steps = steps

    def write(self, out: Array) -> None:
        """The numbers part by part, in the order in which those of `base` lie in memory."""
        order = sorted(range(self.base.ndim), key=lambda d: -self.base.strides[d])
        out = out.transpose(order)
        with _quick_steps():
            for part, numbers in self._computed(order):
                out[part] = numbers

    def pieces(self) -> Iterator[Array]:
        """The numbers of some rows at a time."""
        computed = self._computed(range(self.base.ndim))
        while True:
            with _quick_steps():
                found = next(computed, None)
                rounded = None if found is None else found[1].astype(self.dtype)
            if rounded is None:
                return
            yield rounded

    def _computed(self, order: Sequence[int]) -> Iterator[tuple[Part, Array]]:
        """Of the array with its dimensions in this order, part by part, the index and the numbers,
        not yet rounded to `dtype`. It is left to the caller to silence numpy."""
        base, room = self.base.transpose(order), np.empty(_PIECE, self.base.dtype)
        factors = [np.broadcast_to(s.numbers, self.shape).transpose(order) for s in self.steps]
        for part in _parts(base.shape):
            numbers = base[part]
            out = room[: numbers.size].reshape(numbers.shape)
            for step, factor in zip(self.steps, factors, strict=True):
                numbers = step.ufunc(numbers, factor[part], out=out)
            yield part, numbers

    def sample(self, places: Places) -> Array:
        """Computed at these places alone."""
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
        """What makes that part of its numbers alone."""
        steps = [Step(step.ufunc, window.taken_from(step.numbers)) for step in self.steps]
        return Recipe(window.taken_from(self.base), tuple(steps), self.dtype)

    def same(self, other: Maker) -> bool:
        """Whether another recipe says the same."""
        return (
            isinstance(other, Recipe)
            and _same_view(self.base, other.base)
            and self.dtype == other.dtype
            and len(self.steps) == len(other.steps)
            and all(a.same(b) for a, b in zip(self.steps, other.steps, strict=True))
        )


def _same_view(a: Array, b: Array) -> bool:
    """Whether two arrays are views of the same numbers in the same order."""
    same = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    return a is b or (same and address(a) == address(b))


def _parts(shape: tuple[int, ...]) -> Iterator[Part]:
    """Where to cut an array into parts of at most so many numbers as are computed together, in
    row-major order."""
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
    """numpy silent about rounding, and quick with rows that have a number each: where rows are
    shorter than its buffer, it fills that with copies of the numbers first. What is computed
    number by number does not depend on the buffer."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)


_spaces: list[mmap.mmap] = []


def template(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that takes address space, but no memory as long as nobody reads it."""
    size = max(1, prod(shape) * dtype.itemsize)
    if not _spaces or len(_spaces[-1]) < size:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        _spaces[:] = [mmap.mmap(-1, max(size, _SPACE), flags=flags, prot=mmap.PROT_READ)]
    return np.ndarray(shape, dtype, _spaces[-1])
