"""Simplify compare, select, clamp and not."""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float, is_integer, is_pred
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    is_splat_of,
    producer,
    shape,
    size,
    splat,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "GE": "LE", "LE": "GE"}


def _countable(value: SSAValue) -> bool:
    return is_integer(element(value)) or is_pred(element(value))


def not_(op: Operation, e: Emitter) -> SSAValue | None:
    """not(not x) -> x; not(compare) -> the inverse comparison, for integers."""
    operand = op.operands[0]
    inner = producer(operand, "not")
    if inner is not None:
        return inner.operands[0]
    inner = producer(operand, "compare")
    if inner is None or not _countable(inner.operands[0]):
        return None
    if not operand.has_one_use():
        return None
    lhs, rhs = inner.operands
    return e.compare(lhs, rhs, INVERSE[string(inner, "direction")])


def compare(op: Operation, e: Emitter) -> SSAValue | None:
    """Fold compare(x, x) of integers; move a constant from the left to the right."""
    lhs, rhs = op.operands
    direction = string(op, "direction")
    integral = _countable(lhs)
    if lhs is rhs and integral:
        return e.fill(direction in ("EQ", "LE", "GE"), op.results[0].type)
    if splat(lhs) is not None and splat(rhs) is None and "compare_type" not in op.properties:
        return e.compare(rhs, lhs, SWAPPED[direction])
    if element(lhs) == element(op.results[0]) and integral:
        # A comparison of a pred with a constant is the pred or its negation.
        for equal, number in ((direction == "EQ", 1), (direction == "NE", 0)):
            if equal and is_splat_of(rhs, number):
                return lhs
        for inverse, number in ((direction == "EQ", 0), (direction == "NE", 1)):
            if inverse and is_splat_of(rhs, number):
                return e.unary("not", lhs)
    converted = producer(lhs, "convert")
    if converted is not None and direction in ("NE", "GT", "EQ") and is_splat_of(rhs, 0):
        # convert(pred) != 0 is the pred.
        source = converted.operands[0]
        if element(source) == element(op.results[0]):
            return e.unary("not", source) if direction == "EQ" else source
    return None


def select(op: Operation, e: Emitter) -> SSAValue | None:
    """Fold constant or negated predicates, equal branches, and selects between true and false."""
    pred, on_true, on_false = op.operands
    if on_true is on_false:
        return on_true
    value = splat(pred)
    if value is not None:
        return on_true if bool(value) else on_false
    inverted = producer(pred, "not")
    if inverted is not None:
        return e.select(inverted.operands[0], on_false, on_true)
    # A scalar predicate may apply to all elements.
    if element(op.results[0]) == element(pred) and shape(pred) == shape(op.results[0]):
        if is_splat_of(on_true, 1) and is_splat_of(on_false, 0):
            return pred
        if is_splat_of(on_true, 0) and is_splat_of(on_false, 1):
            return e.unary("not", pred)
    for branch, index in ((on_true, 1), (on_false, 2)):
        inner = producer(branch, "select")
        if inner is not None and inner.operands[0] is pred:
            operands = [pred, on_true, on_false]
            operands[index] = inner.operands[index]
            return e.select(*operands)
    return None


def select_of_rows(op: Operation, e: Emitter) -> SSAValue | None:
    """select(broadcast(p), x, NaN) -> x + broadcast(select(p, -0.0, NaN)), because x + -0.0 is x.

    The select then has few elements (rows that were looked up out of range become NaN).
    """
    pred, on_true, on_false = op.operands
    spread = producer(pred, "broadcast")
    if spread is None or element(op.results[0]) != f32:
        return None
    given, chosen = spread.operands[0], size(spread.operands[0])
    for x, other in ((on_true, on_false), (on_false, on_true)):
        number = splat(other)
        if number is None or not np.isnan(number) or splat(x) is not None:
            continue
        if chosen == 1 or chosen >= size(x):
            continue
        kept = e.fill(-0.0, tensor(shape(given), f32))
        nan = e.fill(number, tensor(shape(given), f32))
        rows = e.select(given, *((kept, nan) if x is on_true else (nan, kept)))
        return e.binary("add", x, e.broadcast(rows, shape(x), ints(spread, "dimensions")))
    return None


def select_of_bound(op: Operation, e: Emitter) -> SSAValue | None:
    """select(x > c, c, x) -> min(x, c), and with < max(x, c), for floats: a NaN stays in both."""
    pred, bound, x = op.operands
    comparison, number = producer(pred, "compare"), splat(bound)
    if comparison is None or not is_float(element(x)) or comparison.operands[0] is not x:
        return None
    if number is None or np.isnan(number) or not is_splat_of(comparison.operands[1], float(number)):
        return None
    if "TOTALORDER" in string(comparison, "compare_type"):
        return None
    opcode = {"GT": "minimum", "GE": "minimum", "LT": "maximum", "LE": "maximum"}.get(
        string(comparison, "direction")
    )
    return None if opcode is None else e.binary(opcode, x, bound)


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.not": (not_,),
    "hlo.compare": (compare,),
    "hlo.select": (select, select_of_rows, select_of_bound),
}
