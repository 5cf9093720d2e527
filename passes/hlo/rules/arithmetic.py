"""Simplify elementwise arithmetic: identity elements, involutions, exact convert chains."""

import math
from functools import cache

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.support.dtypes import (
    is_float,
    is_integer,
    is_pred,
    is_unsigned,
    np_dtype,
)
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    filled_with,
    is_number,
    is_splat_of,
    producer,
    size,
    splat,
)
from neuronir.passes.hlo.support.walk import Rule


def _is_float(value: SSAValue) -> bool:
    return _float_info(element(value)) is not None


def _is_int(value: SSAValue) -> bool:
    return is_integer(element(value))


def _float_info(type_: Attribute) -> tuple[int, int, int] | None:
    """Return (mantissa bits, least exponent, greatest exponent) of a float type, else None."""
    return _info(np_dtype(type_)) if is_float(type_) else None


@cache
def _info(dtype: np.dtype[np.generic]) -> tuple[int, int, int]:
    info = ml_dtypes.finfo(dtype)
    return int(info.nmant), int(info.minexp), int(info.maxexp)


_UNUSUAL = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan])


@cache
def _unusual(dtype: np.dtype[np.generic]) -> frozenset[int]:
    """Return the `_UNUSUAL` values of a real type: some of 8 bits lack infinities, -0, or signs."""
    with np.errstate(all="ignore"):
        held = _UNUSUAL.astype(dtype).astype(np.float64)
    same = (held == _UNUSUAL) & (np.signbit(held) == np.signbit(_UNUSUAL))
    return frozenset(np.flatnonzero(same | (np.isnan(held) & np.isnan(_UNUSUAL))).tolist())


def add(op: Operation, e: Emitter) -> SSAValue | None:
    """x + 0 -> x (as in XLA, also for a zero of the other sign)."""
    lhs, rhs = op.operands
    if is_splat_of(rhs, 0):
        return lhs
    if is_splat_of(lhs, 0):
        return rhs
    return None


def add_to_power(op: Operation, e: Emitter) -> SSAValue | None:
    """(exp(x) - 1) + 1 -> exp(x), also in a branch of a select: elu(x) + 1 is such a select."""
    for value, one in (op.operands, reversed(op.operands)):
        if not is_splat_of(one, 1) or not value.has_one_use():
            continue
        power = producer(value, "exponential_minus_one")
        if power is not None:
            return e.unary("exponential", power.operands[0])
        choice = producer(value, "select")
        if choice is None:
            continue
        pred, *branches = choice.operands
        powers = [producer(v, "exponential_minus_one") for v in branches]
        if any(p is not None and p.results[0].has_one_use() for p in powers):
            sums = [
                e.binary("add", v, one) if p is None else e.unary("exponential", p.operands[0])
                for v, p in zip(branches, powers, strict=True)
            ]
            return e.select(pred, *sums)
    return None


def subtract(op: Operation, e: Emitter) -> SSAValue | None:
    """x - 0 -> x; x - x -> 0 for integers."""
    lhs, rhs = op.operands
    if is_splat_of(rhs, 0):
        return lhs
    if lhs is rhs and _is_int(lhs):
        return e.fill_like(0, lhs)
    return None


def multiply(op: Operation, e: Emitter) -> SSAValue | None:
    """x * 1 -> x; x * 0 -> 0 for integers; x * -1 -> -x."""
    lhs, rhs = op.operands
    for x, y in ((lhs, rhs), (rhs, lhs)):
        number = splat(y)
        if number is None:
            continue
        if is_number(number, 1):
            return x
        if is_number(number, 0) and _is_int(x):
            return y
        if _is_float(x) and is_number(number, -1):
            return e.unary("negate", x)
    return None


def divide(op: Operation, e: Emitter) -> SSAValue | None:
    """x / 1 -> x; x / 2^k -> x * 2^-k, which is exact."""
    lhs, rhs = op.operands
    value = splat(rhs)
    if value is None:
        return None
    if is_number(value, 1):
        return lhs
    info = _float_info(element(lhs))
    if info is None:
        return None
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return None
    mantissa, exponent = math.frexp(number)
    # Both the divisor and its inverse must be normal values of the type.
    if abs(mantissa) != 0.5 or not (info[1] < exponent - 1 < info[2] - 1):
        return None
    if not (info[1] < 1 - exponent < info[2] - 1):
        return None
    return e.binary_number("multiply", lhs, 1.0 / number)


def maximum(op: Operation, e: Emitter) -> SSAValue | None:
    """max(x, -inf) -> x, max(x, least integer) -> x, max(x, x) -> x; false for pred."""
    return _extreme(op, low=True)


def minimum(op: Operation, e: Emitter) -> SSAValue | None:
    """min(x, inf) -> x, min(x, greatest integer) -> x, min(x, x) -> x; true for pred."""
    return _extreme(op, low=False)


def _extreme(op: Operation, low: bool) -> SSAValue | None:
    lhs, rhs = op.operands
    if lhs is rhs:
        return lhs
    neutral = neutral_element("maximum" if low else "minimum", element(lhs))
    if neutral is None:
        return None
    if is_splat_of(rhs, neutral):
        return lhs
    return rhs if is_splat_of(lhs, neutral) else None


def neutral_element(opcode: str, type_: Attribute) -> float | int | None:
    """Return the identity element of a commutative opcode in the type."""
    dtype = np_dtype(type_)
    if dtype.kind == "c":
        return {"add": 0, "multiply": 1}.get(opcode)
    simple = {"add": 0, "multiply": 1, "or": 0, "xor": 0, "and": 1 if is_pred(type_) else -1}
    if opcode == "and" and is_unsigned(type_):
        return int(ml_dtypes.iinfo(dtype).max)
    if opcode in simple:
        return simple[opcode]
    if opcode not in ("maximum", "minimum"):
        return None
    low = opcode == "maximum"
    if is_pred(type_):
        return 0 if low else 1
    if is_integer(type_):
        info = ml_dtypes.iinfo(dtype)
        return int(info.min if low else info.max)
    return -math.inf if low else math.inf


def negate(op: Operation, e: Emitter) -> SSAValue | None:
    """-(-x) -> x."""
    inner = producer(op.operands[0], "negate")
    return None if inner is None else inner.operands[0]


def idempotent(op: Operation, e: Emitter) -> SSAValue | None:
    """f(f(x)) -> f(x) for abs, floor, ceil, rounding, sign."""
    return op.operands[0] if producer(op.operands[0], op.name.removeprefix("hlo.")) else None


def power(op: Operation, e: Emitter) -> SSAValue | None:
    """x ^ 1 -> x; x ^ 2 -> x * x."""
    x, exponent = op.operands
    if is_splat_of(exponent, 1):
        return x
    return e.binary("multiply", x, x) if is_splat_of(exponent, 2) else None


def convert(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove same-type converts; convert(convert(x)) -> convert(x) if the inner one is exact."""
    operand = op.operands[0]
    target = element(op.results[0])
    if element(operand) == target:
        return operand
    inner = producer(operand, "convert")
    if inner is None or not is_exact(element(inner.operands[0]), element(operand)):
        return None
    return e.convert(inner.operands[0], target)


def is_exact(source: Attribute, target: Attribute) -> bool:
    """Return whether each value of the source type is a value of the target type."""
    s, t = np_dtype(source), np_dtype(target)
    if s == t:
        return True
    source_float, target_float = _float_info(source), _float_info(target)
    if "c" in (s.kind, t.kind):
        return False
    if target_float is not None and not _unusual(s) <= _unusual(t):
        return False
    if source_float is not None:
        return target_float is not None and (
            source_float[0] <= target_float[0]
            and source_float[1] - source_float[0] >= target_float[1] - target_float[0]
            and source_float[2] <= target_float[2]
        )
    if is_pred(source):
        return True
    if is_pred(target):
        return False
    source_int = ml_dtypes.iinfo(s)
    if target_float is not None:
        return bool(abs(int(source_int.max)) <= 2 ** (target_float[0] + 1))
    target_int = ml_dtypes.iinfo(t)
    return bool(
        int(target_int.min) <= int(source_int.min) and int(source_int.max) <= int(target_int.max)
    )


def bitcast_convert(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove a bitcast to the same type; merge two in a row."""
    operand = op.operands[0]
    if operand.type == op.results[0].type:
        return operand
    inner = producer(operand, "bitcast_convert")
    if inner is None or size(inner.operands[0]) != size(op.results[0]):
        return None
    if inner.operands[0].type == op.results[0].type:
        return inner.operands[0]
    return e.emit("bitcast_convert", [inner.operands[0]], op.results[0].type)


def bitwise(op: Operation, e: Emitter) -> SSAValue | None:
    """Simplify and, or, xor and shifts with an identity or absorbing constant, and x op x."""
    lhs, rhs = op.operands
    opcode = op.name.removeprefix("hlo.")
    if lhs is rhs:
        return e.fill_like(0, lhs) if opcode == "xor" else lhs
    ones = neutral_element("and", element(lhs))
    for x, y in ((lhs, rhs), (rhs, lhs)):
        if opcode == "and" and (ones is not None and is_splat_of(y, ones)):
            return x
        if opcode in ("or", "xor") and is_splat_of(y, 0):
            return x
        if opcode == "and" and is_splat_of(y, 0):
            return y
        if opcode == "or" and ones is not None and is_splat_of(y, ones):
            return y
    return None


def shift(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove a shift by zero."""
    return op.operands[0] if is_splat_of(op.operands[1], 0) else None


def constant(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a uniform constant as a scalar constant and a broadcast."""
    if size(op.results[0]) <= 1:
        return None
    one = filled_with(op.properties["value"])
    return None if one is None else e.fill(one, op.results[0].type)


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.add": (add, add_to_power),
    "hlo.subtract": (subtract,),
    "hlo.multiply": (multiply,),
    "hlo.divide": (divide,),
    "hlo.maximum": (maximum,),
    "hlo.minimum": (minimum,),
    "hlo.negate": (negate,),
    "hlo.abs": (idempotent,),
    "hlo.floor": (idempotent,),
    "hlo.ceil": (idempotent,),
    "hlo.round_nearest_even": (idempotent,),
    "hlo.round_nearest_afz": (idempotent,),
    "hlo.sign": (idempotent,),
    "hlo.power": (power,),
    "hlo.convert": (convert,),
    "hlo.bitcast_convert": (bitcast_convert,),
    "hlo.and": (bitwise,),
    "hlo.or": (bitwise,),
    "hlo.xor": (bitwise,),
    "hlo.shift_left": (shift,),
    "hlo.shift_right_arithmetic": (shift,),
    "hlo.shift_right_logical": (shift,),
    "hlo.constant": (constant,),
}
