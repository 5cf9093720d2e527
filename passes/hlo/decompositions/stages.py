"""Split long reductions to few elements into two stages.

The first stage reduces to a part of one reduced dimension, so that all partitions have rows. The
second stage reduces that part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.decompositions.argmax import argmax
from neuronir.passes.hlo.decompositions.pairs import reduce_by_region
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, reducer_opcode
from neuronir.passes.hlo.support.values import element, ints, is_splat_of, producer, shape
from neuronir.passes.hlo.support.walk import Rule

_ROWS = 128
"""Partitions."""
_FEW = 32
"""Limit of result elements: each gets a quarter of the partitions or more."""
_LONG = 8192
"""Elements of a row that take longer to reduce than the second stage, at one per cycle (DVE), or
that do not fit in a partition next to others (fp32: 32 KiB).
"""


@dataclass(frozen=True)
class Stage:
    """The rows of the first stage:

    `rows` times `each` elements of dimension `d`, with a remainder.
    """

    d: int
    rows: int
    each: int


def reduce(op: Operation, e: Emitter) -> SSAValue | None:
    """Lower a reduction of pairs (argmax.py) or by a region (pairs.py), or split a reduction of
    one operand.

    A computed initial value is combined last.
    """
    if len(op.operands) != 2:
        return argmax(op, e) or reduce_by_region(op, e)
    value, initial = op.operands
    opcode, dims = reducer_opcode(op), ints(op, "dimensions")
    if opcode is None:
        return reduce_by_region(op, e)
    neutral = neutral_element(opcode, element(value))
    if neutral is None:
        return None
    sizes = shape(value)
    if opcode == "add" and is_float(element(value)):
        neutral = -0.0  # 0 would change a sum of -0
    stage = _stage(sizes, dims)
    if stage is None:
        if producer(initial, "constant") is not None:
            return None
        # machines start from a known value
        result = e.reduce(value, neutral, dims, opcode)
        return e.binary(opcode, result, e.broadcast(initial, shape(result), ()))
    d, ends = stage.d, list(sizes)
    ends[d] = stage.rows * stage.each
    main = e.slice(value, [0] * len(sizes), ends)
    parts = e.reshape(main, (*sizes[:d], stage.rows, stage.each, *sizes[d + 1 :]))
    inner = sorted([d + 1, *(i + (i > d) for i in dims if i != d)])
    first = e.reduce(parts, neutral, inner, opcode)
    result = e.reduce(first, neutral, [d - sum(i < d for i in dims)], opcode)
    if ends[d] < sizes[d]:
        starts = [0] * len(sizes)
        starts[d] = ends[d]
        rest = e.reduce(e.slice(value, starts, sizes), neutral, dims, opcode)
        result = e.binary(opcode, result, rest)
    if is_splat_of(initial, neutral):
        return result
    return e.binary(opcode, result, e.broadcast(initial, shape(result), ()))


def _stage(sizes: Sequence[int], dims: Sequence[int]) -> Stage | None:
    """Return the dimension to split, so that there are as many rows as possible.

    Returns None if there are enough rows, or if reductions are short.
    """
    kept = prod(n for i, n in enumerate(sizes) if i not in dims)
    if not 1 < kept <= _FEW or prod(sizes[d] for d in dims) < _LONG:
        return None
    most = _ROWS // kept
    rows = {d: max(r for r in range(1, most + 1) if sizes[d] % r == 0) for d in dims}
    # The outermost such dimension, so that the rest is contiguous.
    d = min(d for d in dims if 2 * rows[d] > max(rows.values()))
    best = Stage(d, rows[d], sizes[d] // rows[d])
    longest = max(dims, key=lambda d: sizes[d])
    if 2 * best.rows < most <= sizes[longest]:
        best = Stage(longest, most, sizes[longest] // most)
    return best if best.rows > 1 else None


RULES: dict[str, Rule] = {"reduce": reduce}
