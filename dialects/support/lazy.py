"""Large arrays that are computed only where they are written: others scaled, shifted and cast.

Weights that a compiler scales, centres and rounds would otherwise be held two or three times, and
touching memory for the first time takes longer than computing what comes to lie in it.
"""

import mmap
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Array = NDArray[Any]

_PIECE = 1 << 16  # elements that are computed together: what a cache holds
# Reshaping that needs a copy is refused at once, where numpy can.
_NO_COPY: dict[str, Any] = {"copy": False} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}
_SPACE = 1 << 26  # bytes of address space that are taken at once


class Maker(ABC):
    """What makes an array of `shape` and `dtype` in row-major order.

    `template` is an array like it that takes address space only; `copies` says that it computes
    nothing.
    """

    copies = False

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.template = _template(shape, dtype)
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
    def sample(self, places: NDArray[np.int64]) -> Array:
        """The numbers at these places of the row-major order."""

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
    each time, and then rounded to `dtype`. `base` is in row-major order.
    """

    def __init__(self, base: Array, steps: tuple[Step, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(base.shape, dtype)
        self.base = base
        self.steps = steps

    def write(self, out: Array) -> None:
        """The numbers piece by piece."""
        at = 0
        for piece in self._computed():
            with np.errstate(all="ignore"):  # of rounding
                out[at : at + len(piece)] = piece
            at += len(piece)

    def pieces(self) -> Iterator[Array]:
        """The numbers of some rows at a time."""
        for piece in self._computed():
            with np.errstate(all="ignore"):
                rounded = piece.astype(self.dtype)
            yield rounded

    def _computed(self) -> Iterator[Array]:
        """Some rows at a time, not yet rounded to `dtype`."""
        rows = max(1, _PIECE // max(1, prod(self.shape[1:])))
        room = np.empty((rows, *self.shape[1:]), self.base.dtype) if self.steps else self.base
        for start in range(0, len(self.base), rows):
            piece = self.base[start : start + rows]
            with np.errstate(all="ignore"):
                for step in self.steps:
                    by = step.numbers
                    by = by[start : start + rows] if len(by) > 1 else by
                    piece = step.ufunc(piece, by, out=room[: len(piece)])
            yield piece

    def sample(self, places: NDArray[np.int64]) -> Array:
        """Computed at these places alone."""
        found = self.base.reshape(-1)[places]
        small = places.astype(np.uint32) if self.base.size < 1 << 32 else places  # divides faster
        with np.errstate(all="ignore"):
            for step in self.steps:
                index = self._index(step.numbers, small)
                found = step.ufunc(found, step.numbers.reshape(-1)[index])
            return found.astype(self.dtype)

    def _index(self, numbers: Array, places: NDArray[Any]) -> NDArray[Any]:
        """Which of the numbers of a step are at these places."""
        index = np.zeros_like(places)
        for d, size in enumerate(numbers.shape):
            if size > 1:
                along = places // max(1, prod(self.shape[d + 1 :]))
                if d:
                    along -= along // size * size
                index = index * size + along
        return index

    def same(self, other: Maker) -> bool:
        """Whether another recipe says the same."""
        return (
            isinstance(other, Recipe)
            and self.base is other.base
            and self.dtype == other.dtype
            and len(self.steps) == len(other.steps)
            and all(a.same(b) for a, b in zip(self.steps, other.steps, strict=True))
        )


class _InOrder(Maker):
    """The numbers of a view in row-major order, in another shape."""

    copies = True

    def __init__(self, source: "LazyArray", shape: tuple[int, ...]) -> None:
        super().__init__(shape, source.dtype)
        self.source = source

    def write(self, out: Array) -> None:
        """One copy of the view."""
        out.reshape(self.source.shape)[...] = np.asarray(self.source)

    def sample(self, places: NDArray[np.int64]) -> Array:
        """The numbers of the view at these places."""
        return self.source.at(places)


class LazyArray(NDArrayOperatorsMixin):
    """A view of what `maker` makes, which numpy takes for an array.

    Views of it are lazy too; whatever asks for numbers gets an array with all of them. `view` is
    that view of the maker's template, whose own numbers mean nothing.
    """

    def __init__(self, maker: Maker, view: Array | None = None) -> None:
        self.maker = maker
        self._view = maker.template if view is None else view

    @staticmethod
    def of(base: Array, dtype: np.dtype[Any] | None = None) -> "LazyArray":
        """An array in row-major order, rounded to `dtype`."""
        return LazyArray(Recipe(base, (), dtype or base.dtype))

    @property
    def whole(self) -> Maker | None:
        """What makes it, if it is all of that and in its order."""
        return self.maker if self._view is self.maker.template else None

    @property
    def recipe(self) -> Recipe | None:
        """How its numbers are computed, if it is all of them and in their order."""
        whole = self.whole
        return whole if isinstance(whole, Recipe) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers."""
        return self.maker.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self._view.size

    @property
    def itemsize(self) -> int:
        """The bytes of one number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all numbers."""
        return self._view.nbytes

    @property
    def T(self) -> Any:
        """Its dimensions in reverse order."""
        return self.transpose()

    def times(self, numbers: Array, axis: int) -> "LazyArray":
        """The whole times numbers along a dimension, for one that is not cast."""
        along = [-1 if d == axis else 1 for d in range(self.ndim)]
        return self._after(Step(np.multiply, numbers.reshape(along)))

    def less(self, numbers: Array) -> "LazyArray":
        """The whole less numbers of as many dimensions, each as long as its own or of length 1, for
        one that is not cast."""
        return self._after(Step(np.subtract, numbers))

    def _after(self, step: Step) -> "LazyArray":
        recipe = self.recipe
        assert recipe is not None and self.dtype == recipe.base.dtype
        return LazyArray(Recipe(recipe.base, (*recipe.steps, step), self.dtype))

    def reshape(self, *shape: Any) -> Any:
        """As numpy's."""
        dims = shape[0] if len(shape) == 1 else shape
        try:
            found = np.reshape(self._view, dims, **_NO_COPY)
        except ValueError:
            found = None
        if found is not None and self._is_view(found):
            return LazyArray(self.maker, found)
        flat = _template((self.size,), self.dtype)
        return LazyArray(_InOrder(self, flat.reshape(dims).shape))

    def transpose(self, *axes: Any) -> Any:
        """As numpy's."""
        return self._viewed(lambda array: array.transpose(*axes))

    def strided(self, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """A view with these strides in bytes, as numpy's as_strided."""
        as_strided = np.lib.stride_tricks.as_strided
        return self._viewed(lambda array: as_strided(array, shape, strides, writeable=False))

    def astype(self, dtype: Any, **more: Any) -> Any:
        """As numpy's; itself where it has that type."""
        if np.dtype(dtype) == self.dtype:
            return self
        recipe = self.recipe
        if recipe is not None and self.dtype == recipe.base.dtype and not more:
            return LazyArray(Recipe(recipe.base, recipe.steps, np.dtype(dtype)))
        return np.asarray(self).astype(dtype, **more)

    def at(self, places: NDArray[np.int64]) -> Array:
        """The numbers at these places of its row-major order."""
        offset = _address(self._view) - _address(self.maker.template)
        indices = np.unravel_index(places, self.shape)
        flat = np.full(places.shape, offset)
        for index, stride in zip(indices, self._view.strides, strict=True):
            flat += index * stride
        return self.maker.sample(flat // self.itemsize)

    def taken_from(self, made: Array) -> Array:
        """This view of what its maker made."""
        view = self._view
        if view.size == 0:
            return np.empty(view.shape, self.dtype)
        offset = _address(view) - _address(self.maker.template)
        data = made.reshape(-1).view(np.uint8).data
        return np.ndarray(view.shape, self.dtype, data, offset, view.strides)

    def _viewed(self, view: Callable[[Array], Array]) -> Any:
        found = view(self._view)
        if self._is_view(found):
            return LazyArray(self.maker, found)
        return view(np.asarray(self))  # a single number, or what numpy had to copy

    def _is_view(self, found: Array) -> bool:
        """Whether numpy took a view of the template, not a copy."""
        template = self.maker.template
        inside = 0 <= _address(found) - _address(template) < template.nbytes
        return isinstance(found, np.ndarray) and found.size > 0 and inside

    def __getitem__(self, index: Any) -> Any:
        return self._viewed(lambda array: array[index])

    def __len__(self) -> int:
        return len(self._view)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self.taken_from(self.maker.made())
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return found.astype(dtype)
        return found.copy() if copy else found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return getattr(ufunc, method)(*(_plain(x) for x in inputs), **more)

    def __array_function__(self, func: Any, _: Any, args: Any, more: Any) -> Any:
        return func(*_plain(args), **{key: _plain(x) for key, x in more.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


class LazyWriter:
    """Makes lazy arrays one after the other in the same memory."""

    def __init__(self) -> None:
        self._room = np.empty(0, np.uint8)
        self._holds: Maker | None = None

    def numbers(self, array: Array | LazyArray) -> Array:
        """The numbers of an array; those of a lazy one stay until the next call."""
        if not isinstance(array, LazyArray):
            return array
        maker = array.maker
        size = maker.template.nbytes
        if size > self._room.size:
            self._room = np.empty(size, np.uint8)
            self._holds = None
        made = self._room[:size].view(maker.dtype).reshape(maker.shape)
        if self._holds is not maker:
            maker.write(made)
            self._holds = maker
        return array.taken_from(made)


def as_array(array: Array | LazyArray) -> Array:
    """The same, for code that knows of plain arrays only."""
    return cast(Array, array)


def _plain(value: Any) -> Any:
    """The value with arrays in place of lazy ones."""
    if isinstance(value, LazyArray):
        return np.asarray(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(item) for item in value)
    return value


def _address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


_spaces: list[mmap.mmap] = []


def _template(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that takes address space, but no memory as long as nobody reads it."""
    size = max(1, prod(shape) * dtype.itemsize)
    if not _spaces or len(_spaces[-1]) < size:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        _spaces[:] = [mmap.mmap(-1, max(size, _SPACE), flags=flags, prot=mmap.PROT_READ)]
    return np.ndarray(shape, dtype, _spaces[-1])
