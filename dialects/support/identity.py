"""Memoise functions of immutable objects by identity, which is faster than equality."""

from collections.abc import Callable
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

LIMIT = 1 << 16
"""Limit of memoised results, which keep their keys alive; beyond it, the memo is cleared."""


def by_identity(function: Callable[[_Key], _Value]) -> Callable[[_Key], _Value]:
    """Memoise `function` for each immutable object."""
    known: dict[int, tuple[_Key, _Value]] = {}

    def look_up(key: _Key) -> _Value:
        found = known.get(id(key))
        if found is None:
            if len(known) >= LIMIT:
                known.clear()
            found = known[id(key)] = (key, function(key))
        return found[1]

    return look_up
