"""Compute what becomes of padding: the one number of the padding of an op's result."""

from collections.abc import Sequence
from math import isfinite, prod

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.evaluate import lazy_value
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.lowering.conversion.special import makes_special

UNKNOWN = frozenset(("hlo.composite", "hlo.bitcast_convert", "tile.scan"))
"""Other ops whose results on finite padding may be infinite or NaN."""


def of_elements(op: Operation, numbers: Sequence[float]) -> float:
    """Return the result of an elementwise op whose operands are these numbers."""
    arrays = [
        np.asarray(n, np_dtype(element(v))) for n, v in zip(numbers, op.operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        return float(as_array(lazy_value(op, arrays)).reshape(-1)[0])


def of_reduction(op: Operation, number: float | None, begin: float | None) -> float | None:
    """Return the reduction of equal numbers; None if it is not known."""
    if number is None or begin is None:
        return None
    count = prod(shape_of(op.operands[0])[d] for d in ints(op, "dimensions"))
    how = combiner(op)
    if how == "hlo.add":
        return begin + number * count
    if how == "hlo.maximum":
        return max(begin, number)
    return min(begin, number) if how == "hlo.minimum" else None


def may_be_special(op: Operation, number: float | None) -> bool:
    """Return whether a result may be infinite or NaN: `number`, or unknown finite operands' one."""
    if number is not None:
        return not isfinite(number)
    return makes_special(op) or op.name in UNKNOWN
