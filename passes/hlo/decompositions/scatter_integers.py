"""Scatters of integers as scatters of f32 numbers that are exact.

A transfer that combines computes in fp32, in which integers beyond 2^24 are rounded, and stores a
narrow sum at the end of its range where integers wrap round.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_integer, is_unsigned
from neuronir.passes.hlo.decompositions.scatter_windows import (
    elements_at,
    scattered,
    window_count,
)
from neuronir.passes.hlo.support.build import Emitter, binary_region
from neuronir.passes.hlo.support.ranges import integer_range
from neuronir.passes.hlo.support.values import element

_EXACT = 1 << 24
"""Integers up to this magnitude are exact in f32."""
_HALF = 16


def integer_scatter(op: Operation, opcode: str, e: Emitter) -> SSAValue | None:
    """A scatter that adds integers, or keeps the largest or smallest of 32-bit ones; None where the
    machine's is exact, or where there are so many updates that not even bits add up exactly."""
    type_ = element(op.operands[0])
    if not is_integer(type_) or byte_size(type_) > 4:
        return None
    if opcode == "add":
        return _added(op, e)
    return _chosen(op, opcode, e) if byte_size(type_) == 4 else None


def _added(op: Operation, e: Emitter) -> SSAValue | None:
    """The sums of digits, each of as many bits as add up exactly, put together modulo the width."""
    operand, _, updates = op.operands
    type_ = element(operand)
    count = window_count(op)
    if _largest(operand) + count * _largest(updates) <= _EXACT:
        return _as(e, _combined(op, (operand, updates), "add", e), type_)
    width = 8 * byte_size(type_)
    bits = min(width, (_EXACT // (count + 1) + 1).bit_length() - 1)
    if bits < 1:
        return None
    total: SSAValue | None = None
    for low in range(0, width, bits):
        digits = [_digit(e, v, low, min(bits, width - low)) for v in (operand, updates)]
        part = _combined(op, digits, "add", e)
        if low:
            part = e.binary_number("shift_left", part, low)
        total = part if total is None else e.binary("add", total, part)
    assert total is not None
    return _as(e, total, type_)


def _chosen(op: Operation, opcode: str, e: Emitter) -> SSAValue:
    """The largest (or smallest) upper half at each place, then the largest lower half of what has
    that upper half."""
    operand, _, updates = op.operands
    type_ = element(operand)
    if max(_largest(operand), _largest(updates)) <= _EXACT:
        return _as(e, _combined(op, (operand, updates), opcode, e), type_)
    shift = "shift_right_logical" if is_unsigned(type_) else "shift_right_arithmetic"
    upper = [e.binary_number(shift, _word(e, v), _HALF) for v in (operand, updates)]
    best = _combined(op, upper, opcode, e)
    there = (best, elements_at(op, best, e))
    never = -1 if opcode == "maximum" else 1 << _HALF
    lower = []
    for value, mine, wanted in zip((operand, updates), upper, there, strict=True):
        digit = _digit(e, value, 0, _HALF)
        lower.append(e.select(e.compare(mine, wanted, "EQ"), digit, e.fill_like(never, digit)))
    word = e.binary_number("shift_left", best, _HALF)
    return _as(e, e.binary("or", word, _combined(op, lower, opcode, e)), type_)


def _largest(value: SSAValue) -> int:
    """The largest magnitude that an integer tensor may hold."""
    low, high = integer_range(value)
    return max(-low, high)


def _word(e: Emitter, value: SSAValue) -> SSAValue:
    """An integer tensor as s32 with the same low bits."""
    return e.bitcast(value, i32) if byte_size(element(value)) == 4 else e.convert(value, i32)


def _as(e: Emitter, word: SSAValue, type_: Attribute) -> SSAValue:
    """s32 numbers modulo the width of an integer type."""
    return e.bitcast(word, type_) if byte_size(type_) == 4 else e.convert(word, type_)


def _digit(e: Emitter, value: SSAValue, low: int, bits: int) -> SSAValue:
    """The `bits` bits of an integer tensor from bit `low` on, in s32."""
    word = _word(e, value)
    if low:
        word = e.binary_number("shift_right_logical", word, low)
    return word if low + bits == 32 else e.binary_number("and", word, (1 << bits) - 1)


def _combined(op: Operation, values: Sequence[SSAValue], opcode: str, e: Emitter) -> SSAValue:
    """The scatter of (operand, updates) that f32 holds, as it does all their sums, in s32."""
    table, source = (e.convert(v, f32) for v in values)
    return e.convert(scattered(op, table, source, binary_region(opcode, f32), e), i32)
