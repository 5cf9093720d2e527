"""Softmax: exp(x - max) / sum(exp(x - max)), in the forms that frameworks print."""

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.composites.patterns import (
    binary,
    fits,
    reduction,
    spread,
    strip_reshape,
    total,
)
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.support.values import element, is_tensor, producer, shape, splat
from neuronir.passes.statistics import record


def _peak(value: SSAValue, x: SSAValue) -> tuple[int, ...] | None:
    """The dimensions over which a statistic is the maximum of x, perhaps kept above a number or
    replaced where it is not finite (a row that is masked out as a whole)."""
    value = strip_reshape(value)
    found = reduction(value)
    if found is not None:
        return found.dims if found.opcode == "maximum" and found.operand is x else None
    both = binary(value, "maximum")
    if both is not None:
        inner, other = both if splat(both[1]) is not None else (both[1], both[0])
        return _peak(inner, x) if splat(other) is not None else None
    select = producer(value, "select")
    if select is not None and splat(select.operands[2]) is not None:
        return _peak(select.operands[1], x)
    if select is not None and splat(select.operands[1]) is not None:
        return _peak(select.operands[2], x)
    return None


def match_softmax(op: Operation) -> tuple[SSAValue, tuple[int, ...]] | None:
    """(x, dimensions) if the op is the last of a softmax of x over dimensions."""
    numerator, divisor = op.operands
    below = spread(divisor)
    sum_ = total(below.value)
    if sum_ is None or not fits(below, sum_.dims, op.results[0]):
        return None
    if sum_.operand is not numerator or not is_float(element(numerator)):
        return None
    exponential = producer(numerator, "exponential")
    difference = None if exponential is None else binary(exponential.operands[0], "subtract")
    if difference is None:
        return None
    x, shift = difference
    above = spread(shift)
    dims = _peak(above.value, x)
    if dims is None or set(dims) != set(sum_.dims) or not fits(above, dims, x):
        return None
    return x, tuple(sorted(dims))


def find_softmax(block: Block) -> int:
    """Wrap the softmaxes of a block; returns how many."""
    count = 0
    for op in reversed(tuple(block.ops)):
        if op.parent is None or op.name != "hlo.divide" or not is_tensor(op.results[0]):
            continue
        found = match_softmax(op)
        if found is None:
            continue
        x, dims = found
        part = cut(op.results[0], [x])
        if part is None:
            continue
        long = [d for d in dims if shape(x)[d] != 1] or list(dims)
        params = {"axes": i64_array(long), "axis": IntegerAttr(long[-1], i64)}
        wrap(part, "softmax", params)
        record("hlo-find-composites", "softmax")
        count += 1
    return count
