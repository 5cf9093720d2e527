"""Decompose scatters of integers into exact scatters of f32 values.

A combining transfer computes in fp32, which rounds integers beyond 2^24, and it saturates narrow
sums, which should wrap.
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
    """Lower a scatter that adds integers, or takes the maximum or minimum of 32-bit integers.

    Returns None if the machine's scatter is exact, or if there are too many updates for exact sums
    of single bits.
    """
    type_ = element(op.operands[0])
    if not is_integer(type_) or byte_size(type_) > 4:
        return None
    if opcode == "add":
        return _added(op, e)
    return _chosen(op, opcode, e) if byte_size(type_) == 4 else None


def _added(op: Operation, e: Emitter) -> SSAValue | None:
    """Sum digits that are small enough for exact sums, and combine them modulo the width."""
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
    """Find the largest (or smallest) upper half, then the largest lower half with that upper
    half.
    """
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
    """Return the largest magnitude that an integer tensor can hold."""
    low, high = integer_range(value)
    return max(-low, high)


def _word(e: Emitter, value: SSAValue) -> SSAValue:
    """Convert an integer tensor to s32 with the same low bits."""
    return e.bitcast(value, i32) if byte_size(element(value)) == 4 else e.convert(value, i32)


def _as(e: Emitter, word: SSAValue, type_: Attribute) -> SSAValue:
    """Wrap s32 values modulo the width of an integer type."""
    return e.bitcast(word, type_) if byte_size(type_) == 4 else e.convert(word, type_)


def _digit(e: Emitter, value: SSAValue, low: int, bits: int) -> SSAValue:
    """Return `bits` bits of an integer tensor from bit `low` on, in s32."""
    word = _word(e, value)
    if low:
        word = e.binary_number("shift_right_logical", word, low)
    return word if low + bits == 32 else e.binary_number("and", word, (1 << bits) - 1)


def _combined(op: Operation, values: Sequence[SSAValue], opcode: str, e: Emitter) -> SSAValue:
    """Scatter (operand, updates) through f32, which holds all sums exactly; the result is s32."""
    table, source = (e.convert(v, f32) for v in values)
    return e.convert(scattered(op, table, source, binary_region(opcode, f32), e), i32)
