"""Memoise facts of ops for as long as the ops do not change."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from xdsl.ir import Operation

_Found = TypeVar("_Found")
_Known = defaultdict[Callable[..., Any], dict[Operation, Any]]
_KNOWN: ContextVar[_Known | None] = ContextVar("facts", default=None)


def fact_of_op(function: Callable[[Operation], _Found]) -> Callable[[Operation], _Found]:
    """Memoise `function` for each op while `unchanged_ops` is active."""

    @wraps(function)
    def look_up(op: Operation) -> _Found:
        known = _KNOWN.get()
        if known is None:
            return function(op)
        mine: dict[Operation, _Found] = known[function]
        if op in mine:
            return mine[op]
        found = mine[op] = function(op)
        return found

    return look_up


@contextmanager
def unchanged_ops() -> Iterator[None]:
    """Memoise facts of ops while the context is active.

    Ops must not change meanwhile, unless `forget` is called.
    """
    token = _KNOWN.set(defaultdict(dict))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def forget(op: Operation) -> None:
    """Forget the facts of an op that has changed."""
    for facts in (_KNOWN.get() or {}).values():
        facts.pop(op, None)
