"""Find input bounds for which the 64-bit integers of a program fit in 32 bits."""

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation

from neuronir.dialects.support.dtypes import is_float, is_pred
from neuronir.passes.hlo.ranges.analysis import Analysis, feeding, is_wide, limits
from neuronir.passes.hlo.ranges.interval import Interval

_MOST = 128
"""Powers of two: floats of f32 end below 2^128."""
_LEAST = 1
"""Inputs with flags (0 and 1) cannot have smaller bounds."""


def input_bounds(block: Block) -> tuple[Mapping[int, Interval], Operation | None]:
    """Return (bounds by argument number, None), or ({}, op) if no bounds help.

    Within the bounds no 64-bit integer exceeds 32 bits. Bounds are powers of two: first the largest
    one that all inputs can have together (including negatives, else from zero), then for each input
    in turn as large as the others allow. Arguments that need no bounds beyond their type (32 bits
    for a 64-bit one) are omitted.
    """
    search = _Search(block)
    levels = dict.fromkeys(range(len(block.args)), _MOST)
    if search.overflow(levels) is None:
        return {}, None
    if search.overflow(dict.fromkeys(levels, _LEAST)) is not None:
        search.negative = False
    low, high = _LEAST, _MOST  # low fits, high does not
    first = search.overflow(dict.fromkeys(levels, low))
    if first is not None:
        return {}, first
    while high - low > 1:
        middle = (low + high) // 2
        if search.overflow(dict.fromkeys(levels, middle)) is None:
            low = middle
        else:
            high = middle
    levels = dict.fromkeys(levels, low)
    for i in levels:
        levels[i] = search.largest(levels, i)
    found: dict[int, Interval] = {}
    for i, level in levels.items():
        interval = bounded(block.args[i].type, level, search.negative)
        if interval is not None and interval != bounded(block.args[i].type, _MOST, True):
            found[i] = interval
    return found, None


def bounded(type_: Attribute, level: int, negative: bool) -> Interval | None:
    """Return the interval of a type up to 2^level, including negatives if `negative`.

    Returns None for values that are not numeric tensors.
    """
    if not isinstance(type_, TensorType):
        return None
    element = type_.element_type
    whole = limits(element)
    if level >= _MOST or is_pred(element):
        return whole
    if is_float(element):
        return Interval(-(2.0**level) if negative else 0.0, 2.0**level)
    if not isinstance(element, IntegerType):
        return None
    high = (1 << level) - 1
    return Interval(max(-high, whole.low) if negative else 0, min(high, whole.high))


class _Search:
    """Analyses of one block for different bounds."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._needed = feeding(block, _holds_wide)
        self._constants: dict[Operation, Interval] = {}
        self.negative = True

    def overflow(self, levels: Mapping[int, int]) -> Operation | None:
        """Return the first op that may exceed 32 bits."""
        analysis = Analysis(self._needed, self._constants)
        arguments = []
        for i, argument in enumerate(self._block.args):
            found = bounded(argument.type, levels[i], self.negative)
            arguments.append(analysis.of(argument) if found is None else found)
        analysis.run(self._block, arguments)
        return analysis.overflows[0] if analysis.overflows else None

    def largest(self, levels: Mapping[int, int], argument: int) -> int:
        """Return the largest level of one argument, given those of the others."""
        if self.overflow({**levels, argument: _MOST}) is None:
            return _MOST
        low, high = levels[argument], _MOST
        while high - low > 1:
            middle = (low + high) // 2
            if self.overflow({**levels, argument: middle}) is None:
                low = middle
            else:
                high = middle
        return low


def _holds_wide(op: Operation) -> bool:
    return any(isinstance(r.type, TensorType) and is_wide(r.type.element_type) for r in op.results)
