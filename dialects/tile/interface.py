"""Declare how ops are tiled: which slice of each operand a slice of the result needs.

An op declares its tiling with `register_tiling`; plugins can do the same. For each dimension of
each operand, the declaration says one of the following: it follows a dimension of the result (a
slice of the result needs the same slice of the operand); a window of it is needed (including
neighbours); it is reduced (partial results of slices are combined); or all of it is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation

from neuronir.dialects.support.unchanged import fact_of_op


class Need(Enum):
    """The part of an operand that is needed along a dimension without a corresponding result
    dimension.
    """

    WHOLE = "whole"
    REDUCED = "reduced"


WHOLE, REDUCED = Need.WHOLE, Need.REDUCED


@dataclass(frozen=True)
class Window:
    """A windowed dimension.

    Position r along dimension `dim` of the result needs positions r * stride + first to r * stride
    + last of the operand, some of which may be outside (padding).
    """

    dim: int
    stride: int = 1
    first: int = 0
    last: int = 0


DimNeed = int | Window | Need
"""The need of an operand along one of its dimensions: the corresponding dimension of the result, or
the part that is needed.
"""


@dataclass(frozen=True)
class Tiling:
    """The tiling of an op with one result.

    `operands` has, for each operand, one entry per dimension. `whole` are dimensions of the result
    that can only be computed as a whole. `combine` names the hlo op that combines partial results
    if a dimension is reduced. With `regroups`, elements keep their order and dimensions are
    regrouped (a reshape), so digits follow digits.
    """

    operands: tuple[tuple[DimNeed, ...], ...]
    whole: frozenset[int] = frozenset()
    combine: str = ""
    regroups: bool = False


TilingRule = Callable[[Operation], Tiling | None]

_RULES: dict[str, TilingRule] = {}


def register_tiling(*names: str) -> Callable[[TilingRule], TilingRule]:
    """Register the rule of the ops of these names ("hlo.dot"); None if an op cannot be tiled."""

    def register(rule: TilingRule) -> TilingRule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


@fact_of_op
def tiling_of(op: Operation) -> Tiling | None:
    """Return the tiling of an op; None if it has none and is lowered as a whole."""
    rule = _RULES.get(op.name)
    return rule(op) if rule is not None and len(op.results) == 1 else None
