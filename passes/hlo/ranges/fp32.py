"""Decide which integer ops are exact on an engine that computes in fp32.

Such an engine converts its operands to fp32, computes, and converts back with saturation. Bitwise
operators, selects and copies keep all bits.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from neuronir.dialects.support.dtypes import is_integer
from neuronir.passes.hlo.ranges.analysis import Analysis, feeding, is_wide, limits
from neuronir.passes.hlo.ranges.interval import (
    Interval,
    absolute,
    add,
    hull,
    maximum,
    minimum,
    multiply,
    negate,
    products,
    subtract,
    sums,
)
from neuronir.passes.hlo.support.build import reducer_opcode
from neuronir.passes.hlo.support.values import element, ints, shape

WHOLE = 1 << 24
"""Integers up to this magnitude are exact in fp32, as are their sums and differences within it."""
_HELD = Interval(-WHOLE, WHOLE)
_APART = Interval(1 - WHOLE, WHOLE - 1)
"""Rounding to fp32 maps no other integer to one of these or across it.

A comparison with one side in this range is therefore correct after the other side is rounded.
"""

Operands = Sequence[Interval]

ELEMENTWISE: Mapping[str, Callable[[Operands], Interval]] = {
    "add": lambda x: add(x[0], x[1]),
    "subtract": lambda x: subtract(x[0], x[1]),
    "multiply": lambda x: multiply(x[0], x[1]),
    "maximum": lambda x: maximum(x[0], x[1]),
    "minimum": lambda x: minimum(x[0], x[1]),
    "negate": lambda x: negate(x[0]),
    "abs": lambda x: absolute(x[0]),
}
"""Return the interval of the exact result, before it wraps."""

_BITS = ("and", "or", "xor")
_REDUCTIONS = ("reduce", "reduce_window")
_NEVER = frozenset(("dot", "convolution", "power", "remainder", "popcnt", "count_leading_zeros"))
"""Decomposed earlier; the original ops are not analysed here."""


def is_exact(op: Operation, operands: Operands) -> bool:
    """Return whether an op with operands in these intervals is exact when computed in fp32.

    Ops that do not compute with integers are exact.
    """
    opcode = op.name.removeprefix("hlo.")
    if opcode == "compare":
        return _comparison(op, operands)
    if not _computes_integers(op):
        return True
    if opcode in ELEMENTWISE:
        return _fits(op, operands, ELEMENTWISE[opcode](operands))
    if opcode in _REDUCTIONS:
        return len(operands) == 2 and _reduction(op, operands)
    if opcode == "scatter":
        return op.regions[0].block.first_op is op.regions[0].block.last_op
    if opcode == "divide":
        return _quotient(op, operands)
    return opcode not in _NEVER


def integer_ranges(block: Block) -> Analysis:
    """Return the intervals of the integers of a function, which may have any arguments."""
    analysis = Analysis(feeding(block, _touches_integers))
    analysis.run(block, [analysis.of(argument) for argument in block.args])
    return analysis


def inexact(op: Operation, analysis: Analysis) -> list[Interval] | None:
    """Return the operand intervals of an op that fp32 may not compute exactly; None for other
    ops.

    Positions in counted loops are exact in any type: the compiler computes them, or fp32 does if
    they are within 2^24.
    """
    if len(op.results) != 1 or not _touches_integers(op):
        return None
    found = [analysis.of(v) for v in op.operands]
    intervals = [x for x in found if isinstance(x, Interval)]
    if op in analysis.indices and all(x.within(_HELD) for x in intervals):
        return None
    return None if len(intervals) < len(found) or is_exact(op, intervals) else intervals


def _touches_integers(op: Operation) -> bool:
    """Return whether an op has an integer result or operand."""
    values = (*op.operands, *op.results)
    return any(isinstance(v.type, TensorType) and is_integer(v.type.element_type) for v in values)


def _computes_integers(op: Operation) -> bool:
    types = [v.type for v in op.results]
    return any(isinstance(t, TensorType) and is_integer(t.element_type) for t in types)


def _comparison(op: Operation, x: Operands) -> bool:
    type_ = element(op.operands[0])
    if not is_integer(type_):
        return True
    return not is_wide(type_) and any(one.within(_APART) for one in x)


def _fits(op: Operation, x: Operands, found: Interval) -> bool:
    """Return whether operands and result are exact in fp32, and the result fits its type."""
    type_ = element(op.results[0])
    held = all(one.within(_HELD) for one in (*x, found))
    return held and not is_wide(type_) and found.within(limits(type_))


def _reduction(op: Operation, x: Operands) -> bool:
    """Return whether all partial results, in any order, are exact."""
    values, start = x
    opcode = reducer_opcode(op)
    count = reduced_elements(op)
    if opcode in _BITS:
        return True
    if opcode in ("maximum", "minimum"):
        return _fits(op, x, hull(x))
    if opcode == "add":
        size = values.size * count + start.size
        partial = add(sums(values, 0, count), hull((start, Interval(0, 0))))
        return size <= WHOLE and _fits(op, x, partial)
    if opcode == "multiply":
        return _fits(op, x, multiply(products(values, count), hull((start, Interval(1, 1)))))
    return False


def reduced_elements(op: Operation) -> int:
    """Return the number of elements combined into one result of reduce or reduce_window."""
    if op.name == "hlo.reduce_window":
        return prod(ints(op, "window_dimensions"))
    dims = shape(op.operands[0])
    return prod(dims[d] for d in ints(op, "dimensions"))


def _quotient(op: Operation, x: Operands) -> bool:
    """Check a division of values in [0, 2^24) by positive ones.

    The truncated fp32 quotient is then exact, because a quotient below an integer is at least 1 / b
    below it.
    """
    natural = x[0].low >= 0 and x[1].low >= 1
    return natural and all(one.within(_APART) for one in x) and not is_wide(element(op.results[0]))
