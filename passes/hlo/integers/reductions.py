"""Reduce 32-bit integers in steps that fp32 computes exactly."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_unsigned
from neuronir.passes.hlo.decompositions.pairs import in_pairs
from neuronir.passes.hlo.integers.words import HALF, LOW, Words
from neuronir.passes.hlo.ranges.fp32 import WHOLE, reduced_elements
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, binary_region, reducer_opcode
from neuronir.passes.hlo.support.values import element, ints, is_splat_of, shape

_LARGEST_WINDOW = 64
"""Limit of the elements of a window, summed over its dimensions, that are combined one by one."""
_LEAST_DIGIT = 4
"""Minimum bits of a digit for which summing digits pays: eight digits for a value."""

Combine = Callable[[SSAValue, SSAValue], SSAValue]
Sum = Callable[[SSAValue], SSAValue]


def sum_of(op: Operation, ranges: Sequence[Interval], e: Emitter) -> SSAValue | None:
    """Lower an adding reduce or reduce_window: sum each digit separately.

    Digits are small enough that the sum has at most 24 bits. Returns None if there are too many
    elements.
    """
    value, start = op.operands
    if op.name == "hlo.reduce":
        total = _sum_over(value, ints(op, "dimensions"), ranges[0], e)
    else:
        total = _in_digits(value, reduced_elements(op), ranges[0], _windows(op, e), e)
    if total is None or is_splat_of(start, 0):
        return total
    return Words(e).add(total, e.broadcast(start, shape(total), ()))


def _sum_over(value: SSAValue, dims: Sequence[int], r: Interval, e: Emitter) -> SSAValue | None:
    """Sum over dimensions, one dimension at a time if there are too many elements."""
    count = prod(shape(value)[d] for d in dims)
    found = _in_digits(value, count, r, lambda v: e.reduce(v, 0, dims, "add"), e)
    if found is not None or len(dims) < 2:
        return found
    last = max(dims)
    first = _sum_over(value, [last], r, e)
    whole = Interval(-(1 << 31), (1 << 32) - 1)
    rest = [d for d in dims if d != last]
    return None if first is None else _sum_over(first, rest, whole, e)


def _windows(op: Operation, e: Emitter) -> Sum:
    def run(value: SSAValue) -> SSAValue:
        region = binary_region("add", element(value))
        operands = [value, e.scalar(0, element(value))]
        return e.emit("reduce_window", operands, op.results[0].type, op.properties, [region])

    return run


def _in_digits(value: SSAValue, count: int, r: Interval, add: Sum, e: Emitter) -> SSAValue | None:
    bits = min(HALF, (WHOLE // max(count, 1)).bit_length() - 1)
    if bits < _LEAST_DIGIT:
        return None
    words = Words(e)
    width = int(r.high).bit_length() if r.low >= 0 else 32
    total: SSAValue | None = None
    for start in range(0, max(width, 1), bits):
        part = add(words.digit(value, start, min(bits, 32 - start)))
        if start:
            part = e.binary_number("shift_left", part, start)
        total = part if total is None else words.add(total, part)
    return total


def extreme_of(op: Operation, opcode: str, e: Emitter) -> SSAValue | None:
    """Lower a reduce by maximum or minimum: upper halves first, then the matching lower halves."""
    value, start = op.operands
    dims = ints(op, "dimensions")
    kept = [d for d in range(len(shape(value))) if d not in dims]
    words, type_ = Words(e), element(value)
    unsigned = is_unsigned(type_)
    shift = "shift_right_logical" if unsigned else "shift_right_arithmetic"
    high = e.binary_number(shift, value, HALF)
    least, most = (0, LOW) if unsigned else (-(1 << (HALF - 1)), (1 << (HALF - 1)) - 1)
    largest = opcode == "maximum"
    best = e.reduce(high, least if largest else most, dims, opcode)
    here = e.compare(high, e.broadcast(best, shape(value), kept), "EQ")
    none = 0 if largest else LOW
    low = e.select(here, words.low(value), e.fill_like(none, value))
    found = words.joined(best, e.reduce(low, none, dims, opcode))
    neutral = (least if largest else most) * (1 << HALF) + none
    if is_splat_of(start, neutral):
        return found
    first = e.broadcast(start, shape(found), ())
    return e.select(words.compare(found, first, "GE" if largest else "LE"), found, first)


def in_steps(op: Operation, combine: Combine, e: Emitter) -> SSAValue | None:
    """Lower a reduce or reduce_window by an exact combination of two arrays, tree by tree.

    Elements of a reduction are combined pair by pair, the elements of windows at each of their
    positions. Returns None for windows with dilation or of more than `_LARGEST_WINDOW` elements.
    """
    value, start = op.operands
    if op.name == "hlo.reduce":
        found = in_pairs([value], ints(op, "dimensions"), lambda a, b: [combine(a[0], b[0])], e)
        total = None if found is None else found[0]
    else:
        total = _over_windows(op, combine, e)
    if total is None:
        return None
    opcode = reducer_opcode(op)
    neutral = None if opcode is None else neutral_element(opcode, element(value))
    if neutral is not None and is_splat_of(start, neutral):
        return total
    return combine(total, e.broadcast(start, shape(total), ()))


def _over_windows(op: Operation, combine: Combine, e: Emitter) -> SSAValue | None:
    x, opcode = op.operands[0], reducer_opcode(op)
    window, strides = ints(op, "window_dimensions"), ints(op, "window_strides")
    padding = ints(op, "padding")
    neutral = None if opcode is None else neutral_element(opcode, element(x))
    dilated = any(n != 1 for k in ("base_dilations", "window_dilations") for n in ints(op, k))
    if neutral is None or dilated or sum(window) > _LARGEST_WINDOW:
        return None
    x = e.pad(x, e.scalar(neutral, element(x)), padding[::2], padding[1::2])
    for d, count in enumerate(shape(op.results[0])):
        dims = shape(x)
        starts, limits, steps = [0] * len(dims), list(dims), [1] * len(dims)
        steps[d] = strides[d]
        taps: list[SSAValue] = []
        for tap in range(window[d]):
            starts[d], limits[d] = tap, tap + max(count - 1, 0) * strides[d] + min(count, 1)
            taps.append(e.slice(x, starts, limits, steps))
        x = reduce(combine, taps)
    return x
