"""Compute the interval of each op's result, by opcode."""

import math
from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.support.dtypes import byte_size, is_integer, is_unsigned
from neuronir.passes.hlo.ranges import interval as iv
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.support.build import reducer_opcode
from neuronir.passes.hlo.support.values import element, ints, shape

Operands = Sequence[Interval]
Rule = Callable[[Operation, Operands], Interval | None]
"""Return the interval of the single tensor result of an op; None if unknown."""


def _monotone(function: Callable[[float], float]) -> Rule:
    def rule(op: Operation, x: Operands) -> Interval:
        return Interval(*(_at(function, n) for n in (x[0].low, x[0].high)))

    return rule


def _at(function: Callable[[float], float], n: iv.Number) -> float:
    try:
        return float(n) if math.isinf(n) else function(n)
    except (OverflowError, ValueError):
        return math.copysign(math.inf, n)


def _exponential(op: Operation, x: Operands) -> Interval:
    low, high = (_at(math.exp, n) for n in (x[0].low, x[0].high))
    return Interval(max(low, 0.0), high)


def _root(op: Operation, x: Operands) -> Interval:
    return Interval(0, _at(math.sqrt, max(x[0].high, 0)))


def _always(low: float, high: float) -> Rule:
    return lambda op, x: Interval(low, high)


def _both(function: Callable[[Interval, Interval], Interval]) -> Rule:
    return lambda op, x: function(x[0], x[1])


def _first(op: Operation, x: Operands) -> Interval:
    return x[0]


def _joined(op: Operation, x: Operands) -> Interval:
    return iv.hull(x)


def _two(op: Operation, x: Operands) -> Interval:
    return iv.hull(x[:2])


def _select(op: Operation, x: Operands) -> Interval:
    return iv.hull(x[1:])


def _clamp(op: Operation, x: Operands) -> Interval:
    return iv.minimum(iv.maximum(x[0], x[1]), x[2])


def _iota(op: Operation, x: Operands) -> Interval:
    dims = shape(op.results[0])
    return Interval(0, max((*dims, 1)) - 1)


def _pad(op: Operation, x: Operands) -> Interval:
    return iv.hull(x)


def _dot(op: Operation, x: Operands) -> Interval:
    count = prod(shape(op.operands[0])[d] for d in ints(op, "lhs_contracting_dims"))
    return iv.sums(iv.multiply(x[0], x[1]), count, count)


def _convolution(op: Operation, x: Operands) -> Interval:
    count = prod(shape(op.operands[1]))  # at most all elements of the kernel
    return iv.sums(iv.multiply(x[0], x[1]), 0, count)


def _divide(op: Operation, x: Operands) -> Interval:
    signed = not is_unsigned(element(op.operands[0]))
    return iv.divide_whole(x[0], x[1], signed=signed)


def _shift_right_logical(op: Operation, x: Operands) -> Interval | None:
    """Return the bits of a negative value as an unsigned integer add 2^width."""
    if x[0].low >= 0:
        return iv.shift_right(x[0], x[1])
    width = 8 * byte_size(element(op.results[0]))
    if x[1].low < 1 or x[1].high >= width:
        return None
    return Interval(0, ((1 << width) - 1) >> int(x[1].low))


def _same_bits(op: Operation, x: Operands) -> Interval | None:
    """Nonnegative integers have the same value in either signedness."""
    source, type_ = element(op.operands[0]), element(op.results[0])
    if not is_integer(source) or byte_size(source) != byte_size(type_) or x[0].low < 0:
        return None
    most = (1 << (8 * byte_size(type_) - (not is_unsigned(type_)))) - 1
    return x[0] if x[0].high <= most else None


def _combined(
    opcode: str | None, start: Interval, values: Interval, least: int, most: int
) -> Interval | None:
    """Return the interval of combining `least` to `most` values with an opcode, from a start."""
    if opcode == "add":
        return iv.add(start, iv.sums(values, least, most))
    if opcode == "multiply":
        return iv.multiply(start, iv.products(values, most))
    if opcode in ("maximum", "minimum"):
        one = (iv.maximum if opcode == "maximum" else iv.minimum)(start, values)
        return one if least else iv.hull((start, one))
    if opcode in ("and", "or", "xor"):
        return iv.bits(start, values)
    return None


def _reduce(op: Operation, x: Operands) -> Interval | None:
    dims = shape(op.operands[0])
    count = prod(dims[d] for d in ints(op, "dimensions"))
    return _combined(reducer_opcode(op), x[1], x[0], count, count) if len(x) == 2 else None


def _reduce_window(op: Operation, x: Operands) -> Interval | None:
    count = prod(ints(op, "window_dimensions"))
    return _combined(reducer_opcode(op), x[1], x[0], 0, count) if len(x) == 2 else None


def _scatter(op: Operation, x: Operands) -> Interval | None:
    if len(x) != 3:
        return None
    block = op.regions[0].block
    if block.first_op is block.last_op:
        return iv.hull((x[0], x[2]))
    count = prod(shape(op.operands[2]))
    return _combined(reducer_opcode(op), x[0], x[2], 0, count)


RULES: Mapping[str, Rule] = {
    "add": _both(iv.add),
    "subtract": _both(iv.subtract),
    "multiply": _both(iv.multiply),
    "maximum": _both(iv.maximum),
    "minimum": _both(iv.minimum),
    "negate": lambda op, x: iv.negate(x[0]),
    "abs": lambda op, x: iv.absolute(x[0]),
    "select": _select,
    "clamp": _clamp,
    "iota": _iota,
    "floor": _monotone(math.floor),
    "ceil": _monotone(math.ceil),
    "round_nearest_even": _monotone(round),
    "round_nearest_afz": _monotone(round),
    "exponential": _exponential,
    "sqrt": _root,
    "logistic": _always(0, 1),
    **dict.fromkeys(("tanh", "sine", "cosine", "erf", "sign"), _always(-1, 1)),
    **dict.fromkeys(("atan2",), _always(-math.pi, math.pi)),
    **dict.fromkeys(
        "broadcast reshape transpose slice reverse copy gather dynamic_slice bitcast "
        "reduce_precision optimization_barrier sort".split(),
        _first,
    ),
    "concatenate": _joined,
    "dynamic_update_slice": _two,
    "pad": _pad,
    "dot": _dot,
    "convolution": _convolution,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "scatter": _scatter,
}
"""Rules for all element types."""

INTEGER: Mapping[str, Rule] = {
    "divide": _divide,
    "remainder": _both(iv.remainder),
    "power": _both(iv.power_whole),
    "and": _both(iv.both),
    "or": _both(iv.bits),
    "xor": _both(iv.bits),
    "not": lambda op, x: iv.subtract(Interval(-1, -1), x[0]),
    "shift_left": _both(iv.shift_left),
    "shift_right_arithmetic": _both(iv.shift_right),
    "shift_right_logical": _shift_right_logical,
    "bitcast_convert": _same_bits,
}
"""Rules for integers only."""

FLOAT: Mapping[str, Rule] = {
    "divide": _both(iv.divide),
    "power": _both(iv.power),
    "remainder": _both(lambda a, b: iv.remainder(a, iv.hull((b, Interval(0, 0))))),
}
"""Rules for floats only; results are rounded outwards."""
