"""Recognise softmax, exp(x - max) / sum(exp(x - max)), in the forms that frameworks print."""

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
from neuronir.passes.hlo.support.values import (
    element,
    is_splat_of,
    is_tensor,
    producer,
    shape,
    splat,
)
from neuronir.passes.statistics import record


def _peak(value: SSAValue, x: SSAValue) -> tuple[int, ...] | None:
    """Return the dimensions over which a statistic is the maximum of x.

    The maximum may be clamped from below, or replaced where it is not finite (fully masked rows).
    """
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


Match = tuple[SSAValue, tuple[int, ...]]
"""x, and the dimensions over which its softmax sums."""


def _unconverted(value: SSAValue) -> SSAValue:
    """Return the value before a conversion: 16-bit softmaxes accumulate in f32."""
    convert = producer(value, "convert")
    return value if convert is None else convert.operands[0]


def _sum_of(divisor: SSAValue, summand: SSAValue) -> tuple[int, ...] | None:
    """Return the dimensions over which the summand was reduced to a (broadcast) divisor."""
    below = spread(divisor)
    sum_ = total(_unconverted(below.value))
    if sum_ is None or not fits(below, sum_.dims, summand):
        return None
    return sum_.dims if _unconverted(sum_.operand) is _unconverted(summand) else None


def match_softmax(op: Operation) -> Match | None:
    """Match the last op of a softmax: a quotient by the sum, or a product with its inverse.

    Returns (x, dimensions).
    """
    if op.name == "hlo.divide":
        return _match(op.operands[0], op.operands[1])
    for numerator, other in (tuple(op.operands), tuple(reversed(op.operands))):
        if producer(numerator, "exponential") is None:
            continue
        outer = producer(other, "broadcast")
        inverse = None if outer is None else binary(outer.operands[0], "divide")
        if inverse is None or not is_splat_of(inverse[0], 1):
            continue
        sum_ = total(inverse[1])
        if sum_ is not None and fits(spread(other), sum_.dims, numerator):
            if sum_.operand is numerator:
                return _shifted(numerator, sum_.dims)
    return None


def match_log_softmax(op: Operation) -> Match | None:
    """Match x - max minus the logarithm of the sum of exponentials; return (x, dimensions)."""
    shifted, subtrahend = op.operands
    below = spread(subtrahend)
    log = producer(below.value, "log")
    sum_ = None if log is None else total(log.operands[0])
    if sum_ is None or not fits(below, sum_.dims, shifted):
        return None
    exponential = producer(sum_.operand, "exponential")
    if exponential is None or exponential.operands[0] is not shifted:
        return None
    return _shifted(sum_.operand, sum_.dims)


def _match(numerator: SSAValue, divisor: SSAValue) -> Match | None:
    if producer(numerator, "exponential") is None:
        return None
    dims = _sum_of(divisor, numerator)
    return None if dims is None else _shifted(numerator, dims)


def _shifted(numerator: SSAValue, summed: tuple[int, ...]) -> Match | None:
    """Return the x of exp(x - max(x)), if the maximum is over the same dimensions."""
    exponential = producer(numerator, "exponential")
    difference = None if exponential is None else binary(exponential.operands[0], "subtract")
    if difference is None or not is_float(element(numerator)):
        return None
    x, shift = difference
    above = spread(shift)
    dims = _peak(above.value, x)
    if dims is None or set(dims) != set(summed) or not fits(above, dims, x):
        return None
    return x, tuple(sorted(dims))


_MATCHERS = {
    "hlo.divide": ("softmax", match_softmax),
    "hlo.multiply": ("softmax", match_softmax),
    "hlo.subtract": ("log_softmax", match_log_softmax),
}


def find_softmax(block: Block) -> int:
    """Outline the softmaxes of a block and return their number."""
    count = 0
    for op in reversed(tuple(block.ops)):
        matcher = _MATCHERS.get(op.name)
        if op.parent is not block or matcher is None or not is_tensor(op.results[0]):
            continue
        kind, match = matcher
        found = match(op)
        if found is None:
            continue
        x, dims = found
        part = cut(op.results[0], [x])
        if part is None:
            continue
        long = [d for d in dims if shape(x)[d] != 1] or list(dims)
        params = {"axes": i64_array(long), "axis": IntegerAttr(long[-1], i64)}
        wrap(part, kind, params)
        record("hlo-find-composites", kind)
        count += 1
    return count
