"""Represent large arrays that are computed when they are written: others scaled, shifted and cast.

Weights that a compiler scales, centres and rounds would otherwise be stored two or three times, and
the first access to memory takes longer than computing its contents.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from neuronir.dialects.support.recipe import Array, Maker, Places, Recipe, Step, template
from neuronir.dialects.support.window import Window, address, as_strided

# Reshaping that needs a copy fails immediately if numpy supports that.
_NO_COPY: dict[str, Any] = {"copy": False} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}


class _InOrder(Maker):
    """The elements of a view in row-major order, in another shape."""

    copies = True

    def __init__(self, source: "LazyArray", shape: tuple[int, ...]) -> None:
        super().__init__(shape, source.dtype)
        self.source = source

    def write(self, out: Array) -> None:
        """Write the elements of the view to `out`."""
        out.reshape(self.source.shape)[...] = np.asarray(self.source)

    def sample(self, places: Places) -> Array:
        """Return the elements of the view at these positions."""
        return self.source.at(places.numbers)


class LazyArray(NDArrayOperatorsMixin):
    """A view of the result of `maker`, which numpy accepts as an array.

    Views of it are lazy too. Reading elements evaluates the whole array. `view` is the
    corresponding view of the maker's template, whose own elements are meaningless.
    """

    def __init__(self, maker: Maker, view: Array | None = None) -> None:
        self.maker = maker
        self._view = maker.template if view is None else view

    @staticmethod
    def of(base: Array, dtype: np.dtype[Any] | None = None) -> "LazyArray":
        """Return an array in row-major order, rounded to `dtype`."""
        return LazyArray(Recipe(base, (), dtype or base.dtype))

    @property
    def whole(self) -> Maker | None:
        """Return its maker if it is the maker's whole result in order."""
        return self.maker if self._view is self.maker.template else None

    @property
    def recipe(self) -> Recipe | None:
        """Return how its elements are computed, if it is the whole result in order."""
        whole = self.whole
        return whole if isinstance(whole, Recipe) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.maker.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._view.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._view.size

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._view.nbytes

    @property
    def T(self) -> Any:
        """The dimensions in reverse order."""
        return self.transpose()

    def times(self, numbers: Array, axis: int) -> "LazyArray":
        """Multiply the array (not cast) by values along a dimension."""
        along = [-1 if d == axis else 1 for d in range(self.ndim)]
        return self._after(Step(np.multiply, numbers.reshape(along)))

    def less(self, numbers: Array) -> "LazyArray":
        """Subtract values from the array (not cast), each dimension of equal length or 1."""
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
        cut = self.cut() if self.whole is None else None
        if cut is not None:
            return LazyArray(cut).reshape(dims)
        flat = template((self.size,), self.dtype)
        return LazyArray(_InOrder(self, flat.reshape(dims).shape))

    def transpose(self, *axes: Any) -> Any:
        """As numpy's."""
        return self._viewed(lambda array: array.transpose(*axes))

    def strided(self, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """Return a view with these strides in bytes (`as_strided`)."""
        return self._viewed(lambda array: as_strided(array, shape, strides))

    def astype(self, dtype: Any, **more: Any) -> Any:
        """As numpy's; the array itself if it already has that type."""
        if np.dtype(dtype) == self.dtype:
            return self
        recipe = self.recipe
        if recipe is not None and self.dtype == recipe.base.dtype and not more:
            return LazyArray(Recipe(recipe.base, recipe.steps, np.dtype(dtype)))
        return np.asarray(self).astype(dtype, **more)

    def at(self, places: NDArray[np.int64]) -> Array:
        """Return the elements at these positions of its row-major order."""
        offset = address(self._view) - address(self.maker.template)
        indices = np.unravel_index(places, self.shape)
        flat = np.full(places.shape, offset)
        for index, stride in zip(indices, self._view.strides, strict=True):
            flat += index * stride
        return self.maker.sample(Places(flat // self.itemsize))

    def taken_from(self, made: Array) -> Array:
        """Return this view of the maker's result."""
        view = self._view
        if view.size == 0:
            return np.empty(view.shape, self.dtype)
        offset = address(view) - address(self.maker.template)
        data = made.reshape(-1).view(np.uint8).data
        return np.ndarray(view.shape, self.dtype, data, offset, view.strides)

    def cut(self) -> Recipe | None:
        """Return how only its own elements are computed; None if its dimensions do not tell."""
        if not isinstance(self.maker, Recipe):
            return None
        if self.whole is not None:
            return self.maker
        window = Window.of(self._view, self.maker.template)
        return None if window is None else self.maker.cut(window)

    def _viewed(self, view: Callable[[Array], Array]) -> Any:
        found = view(self._view)
        if self._is_view(found):
            return LazyArray(self.maker, found)
        return view(np.asarray(self))  # a single element, or a copy made by numpy

    def _is_view(self, found: Array) -> bool:
        """Return whether numpy returned a view of the template, not a copy."""
        template = self.maker.template
        inside = 0 <= address(found) - address(template) < template.nbytes
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
    """Evaluates lazy arrays one after another in the same memory."""

    def __init__(self) -> None:
        self._room = np.empty(0, np.uint8)
        self._holds: Maker | None = None

    def numbers(self, array: Array | LazyArray) -> Array:
        """Return the elements of an array; those of a lazy one are valid until the next call."""
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

    def write(self, array: Array | LazyArray, out: Array) -> None:
        """Write the elements of an array to another one of the same shape."""
        cut = array.cut() if isinstance(array, LazyArray) else None
        if cut is not None and cut.dtype == out.dtype:
            cut.write(out)
        else:
            out[...] = self.numbers(array)


def as_array(array: Array | LazyArray) -> Array:
    """Return an evaluated array for code that only handles plain arrays."""
    return cast(Array, array)


def _plain(value: Any) -> Any:
    """Replace lazy arrays in a value by evaluated ones."""
    if isinstance(value, LazyArray):
        return np.asarray(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(item) for item in value)
    return value
