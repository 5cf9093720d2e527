"""Memos by identity, which of immutable objects is known sooner than equality."""

from collections.abc import Callable
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_LIMIT = 1 << 14
"""What a memo remembers before it forgets all; it keeps its keys alive for so long."""


def by_identity(function: Callable[[_Key], _Value]) -> Callable[[_Key], _Value]:
    """Remember what `function` returns for each immutable object."""
    known: dict[int, tuple[_Key, _Value]] = {}

    def look_up(key: _Key) -> _Value:
        found = known.get(id(key))
        if found is None:
            if len(known) >= _LIMIT:
                known.clear()
            found = known[id(key)] = (key, function(key))
        return found[1]

    return look_up
