"""How an op is tiled: which part of its operands a part of its result needs.

An op declares it with `register_tiling`; a plugin's does so, too. For each dimension of each
operand it says which dimension of the result it follows (a slice of the result needs the same
slice of the operand), of which it needs a window (with what lies around), that it is reduced
(partial results of slices combine), or that all of it is needed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation


class Need(Enum):
    """What an operand is needed of along a dimension that no dimension of the result follows."""

    WHOLE = "whole"
    REDUCED = "reduced"


WHOLE, REDUCED = Need.WHOLE, Need.REDUCED


@dataclass(frozen=True)
class Window:
    """Position r along dimension `dim` of the result needs the positions r * stride + first to
    r * stride + last of the operand, of which some may lie outside (padding)."""

    dim: int
    stride: int = 1
    first: int = 0
    last: int = 0


DimNeed = int | Window | Need
"""Of a dimension of an operand: the dimension of the result that it follows, or what is needed."""


@dataclass(frozen=True)
class Tiling:
    """The tiling of an op with one result.

    `operands` has an entry for each operand, with one for each of its dimensions. `whole` are the
    dimensions of the result that can only be made as a whole. `combine` names the hlo op that
    combines partial results where a dimension is reduced. With `regroups` the elements keep their
    order and the dimensions are other factors of it (a reshape): then digits follow digits.
    """

    operands: tuple[tuple[DimNeed, ...], ...]
    whole: frozenset[int] = frozenset()
    combine: str = ""
    regroups: bool = False


TilingRule = Callable[[Operation], Tiling | None]

_RULES: dict[str, TilingRule] = {}


def register_tiling(*names: str) -> Callable[[TilingRule], TilingRule]:
    """Registers the rule of the ops of these names ("hlo.dot"); None where an op can't be tiled."""

    def register(rule: TilingRule) -> TilingRule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


def tiling_of(op: Operation) -> Tiling | None:
    """The tiling of an op; None where it has none: then it is worked on as a whole."""
    known = _KNOWN.get()
    if known is None:
        return _found(op)
    if op not in known:
        known[op] = _found(op)
    return known[op]


def _found(op: Operation) -> Tiling | None:
    rule = _RULES.get(op.name)
    return rule(op) if rule is not None and len(op.results) == 1 else None


_KNOWN: ContextVar[dict[Operation, Tiling | None] | None] = ContextVar("tilings", default=None)


@contextmanager
def unchanged_ops() -> Iterator[None]:
    """While this lasts no op changes, so that each is asked for its tiling once."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)
