"""Keep the contents of large constants for as long as an attribute refers to them.

An attribute names its content by a key and owns it. A process that compiles one model after another
therefore holds the weights of those alone whose modules are alive.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import numpy.typing as npt

from neuronir.dialects.support.lazy import LazyArray

Array = npt.NDArray[np.generic]


class Content:
    """A read-only array, and what has been found out about it."""

    __slots__ = (
        "key",
        "array",
        "lazy",
        "finite",
        "negative_zero",
        "largest",
        "least",
        "__weakref__",
    )

    def __init__(self, key: str, array: Array | LazyArray) -> None:
        self.key = key
        self.array = array
        self.lazy: LazyArray | None = None
        """The array before it was evaluated, kept so that no other one takes its identity."""
        self.finite: bool | None = None
        self.negative_zero: bool | None = None
        self.largest: float | None = None
        self.least: float | None = None

    def evaluated(self) -> Array:
        """Return the array; a lazy one is evaluated and replaced."""
        if isinstance(self.array, LazyArray):
            self.lazy, self.array = self.array, np.asarray(self.array)
            _of_array[id(self.array)] = self
        return self.array


class Owner(Protocol):
    """An attribute that names a content."""

    def own(self, content: Content) -> None:
        """Keep the content with its key."""


_contents: weakref.WeakValueDictionary[str, Content] = weakref.WeakValueDictionary()
_of_array: weakref.WeakValueDictionary[int, Content] = weakref.WeakValueDictionary()
"""By the identities of arrays, which their contents keep alive."""
_waiting: dict[str, weakref.WeakValueDictionary[int, Owner]] = {}
"""Attributes of a text whose resources have not been read yet, by key."""
_kept: list[Content] = []
_keeping = 0


@contextmanager
def contents_kept() -> Iterator[None]:
    """Keep all contents that are made in this context, a compile, to its end.

    An attempt finds what the one before it has computed.
    """
    global _keeping
    _keeping += 1
    try:
        yield
    finally:
        _keeping -= 1
        if not _keeping:
            _kept.clear()


def content_of(key: str) -> Content | None:
    """Return the content with a key, if there is one."""
    return _contents.get(key)


def content_with(array: Array | LazyArray) -> Content | None:
    """Return the content whose array this is, not a copy of it."""
    return _of_array.get(id(array))


def hold(key: str, array: Array | LazyArray) -> Content:
    """Return a new content, for the attributes with its key; nobody may write to the array."""
    content = Content(key, array)
    _contents[key] = content
    _of_array[id(array)] = content
    if _keeping:
        _kept.append(content)
    for owner in _waiting.pop(key, {}).values():
        owner.own(content)
    return content


def claim(key: str, owner: Owner) -> None:
    """Make a new attribute an owner of the content with a key, now or as soon as that is read."""
    content = _contents.get(key)
    if content is not None:
        owner.own(content)
    else:  # by identity: attributes with one key are equal
        _waiting.setdefault(key, weakref.WeakValueDictionary())[id(owner)] = owner
