"""Decompose reductions of (value, index) pairs that keep the largest or smallest value."""

from itertools import product
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.semantics.execution import BlockPlan
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.support.dtypes import is_float, is_integer, np_dtype
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, shape

_NUMBERS = (-np.inf, -2.5, -1.0, 0.0, 1.0, 2.5, np.inf, np.nan)
_INDICES = (0, 1, 2, 7)


def _samples(block: Block) -> list[Array] | None:
    """Return sample values and indices of both sides of a comparison, in all combinations, as four
    arrays.
    """
    types = [element(arg) for arg in block.args]
    if types[0] != types[2] or types[1] != types[3] or not is_integer(types[1]):
        return None
    values: tuple[float, ...] = _NUMBERS if is_float(types[0]) else (0, 1, 2, 3, 100)
    rows = list(product(values, _INDICES, values, _INDICES))
    columns: list[Any] = list(zip(*rows, strict=True))
    return [np.array(c).astype(np_dtype(t)) for c, t in zip(columns, types, strict=True)]


def extreme(block: Block) -> str | None:
    """Return `maximum` or `minimum` if the reducer keeps that value and the lower index of equals.

    NaN must win. The reducer is evaluated on sample pairs.
    """
    samples = _samples(block)
    if samples is None:
        return None
    with np.errstate(all="ignore"):
        got = BlockPlan(block, pointwise=True).run(samples)[0]
    if not isinstance(got, tuple) or len(got) != 2 or isinstance(got[1], tuple):
        return None
    a, i, b, j = samples
    nan_a, nan_b = a != a, b != b
    # Of two NaNs a reducer may keep either index, because the order of a reduction is free.
    free = nan_a & nan_b
    for opcode, better in (("maximum", np.greater), ("minimum", np.less)):
        with np.errstate(all="ignore"):
            first = (better(a, b) | nan_a) & ~free
        value = np.where(first, a, b)
        index = np.where(a == b, np.minimum(i, j), np.where(first, i, j))
        index = np.where(free, got[1], index)
        if _equal(got[0], value) and _equal(got[1], index):
            return opcode
    return None


def _equal(got: Value, wanted: Array) -> bool:
    """Return whether two arrays are equal, where NaN equals NaN."""
    if isinstance(got, tuple):
        return False
    return np.array_equal(got.astype(np.float64), wanted.astype(np.float64), equal_nan=True)


def argmax(op: Operation, e: Emitter) -> SSAValue | None:
    """Take the max over the values, then the min over the indices where the value is the
    maximum.
    """
    if len(op.operands) != 4:
        return None
    block = op.regions[0].blocks.first
    opcode = None if block is None or len(block.args) != 4 else extreme(block)
    values, indices, first_value, first_index = op.operands
    neutral = None if opcode is None else neutral_element(opcode, element(values))
    if opcode is None or neutral is None:
        return None
    dims = ints(op, "dimensions")
    best = e.reduce(values, neutral, dims, opcode)
    best = e.binary(opcode, best, e.broadcast(first_value, shape(best), ()))
    kept = [d for d in range(len(shape(values))) if d not in set(dims)]
    last = neutral_element("minimum", element(indices))
    if last is None:
        return None
    wide = e.broadcast(best, shape(values), kept)
    candidates = e.select(same(values, wide, e), indices, e.fill_like(last, indices))
    where = e.reduce(candidates, last, dims, "minimum")
    start = e.broadcast(first_value, shape(best), ())
    start_index = e.broadcast(first_index, shape(best), ())
    lower = e.binary("minimum", where, start_index)
    return e.tuple([best, e.select(same(start, best, e), lower, where)])


def same(a: SSAValue, b: SSAValue, e: Emitter) -> SSAValue:
    """Compare a == b, where NaN equals NaN."""
    equal = e.compare(a, b, "EQ")
    if not is_float(element(a)):
        return equal
    nan = e.binary("and", e.compare(a, a, "NE"), e.compare(b, b, "NE"))
    return e.binary("or", equal, nan)
