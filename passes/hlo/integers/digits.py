"""Multiply 32-bit integers as digits of 11 bits, in steps that fp32 computes exactly.

A column is the sum of the products of one weight and of the carry from the column below it. It has
at most three products: 3 (2^11 - 1)^2 + 2^13 < 2^24.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.passes.hlo.integers.pairs import WIDTH, Pair
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import splat

_DIGIT = 11
_MASK = (1 << _DIGIT) - 1
_DIGITS = -(-WIDTH // _DIGIT)


def digits_of(b: Builder, x: SSAValue, bits: int = WIDTH) -> list[SSAValue]:
    """Return the digits of integers of which at most the lowest `bits` are set, the lowest first.

    They are not negative, and of the type of `x`.
    """
    starts = range(0, max(bits, 1), _DIGIT)
    number = splat(x)
    if number is not None:
        return [b.fill_like(int(number) >> start & _MASK, x) for start in starts]
    found = []
    for start in starts:
        part = b.binary_number("shift_right_logical", x, start) if start else x
        if start + _DIGIT < WIDTH:
            part = b.binary_number("and", part, _MASK)
        found.append(part)
    return found


def product(b: Builder, x: Sequence[SSAValue], y: Sequence[SSAValue]) -> SSAValue:
    """Return the product modulo 2^32 of integers with the digits `x` and `y`."""
    columns = _columns(b, x, y, _DIGITS)
    return _word(b, [*(_digit(b, v) for v in columns[:-1]), columns[-1]])


def full_product(b: Builder, x: SSAValue, y: SSAValue) -> Pair:
    """Multiply u32 values to 64 bits, as `pairs.full_product` does with products of 32 bits."""
    columns = _columns(b, digits_of(b, x), digits_of(b, y), 2 * _DIGITS - 1)
    digits = [*(_digit(b, v) for v in columns[:-1]), columns[-1]]
    low = _word(b, digits[:_DIGITS])
    # The last digit of the low half reaches into the high half.
    above = _DIGITS * _DIGIT - WIDTH
    high = b.binary_number("shift_right_logical", digits[_DIGITS - 1], _DIGIT - above)
    for i, digit in enumerate(digits[_DIGITS:]):
        shifted = b.binary_number("shift_left", digit, above + i * _DIGIT)
        high = b.binary("or", shifted, high)
    return Pair(low, high)


def _columns(b: Builder, x: Sequence[SSAValue], y: Sequence[SSAValue], most: int) -> list[SSAValue]:
    """Return the columns of a product from the lowest on, at most `most` of them."""
    columns: list[SSAValue] = []
    for weight in range(min(most, len(x) + len(y) - 1)):
        total = b.binary_number("shift_right_logical", columns[-1], _DIGIT) if columns else None
        for i in range(max(0, weight - len(y) + 1), min(weight + 1, len(x))):
            part = b.binary("multiply", x[i], y[weight - i])
            total = part if total is None else b.binary("add", part, total)
        assert total is not None
        columns.append(total)
    return columns


def _digit(b: Builder, column: SSAValue) -> SSAValue:
    return b.binary_number("and", column, _MASK)


def _word(b: Builder, digits: Sequence[SSAValue]) -> SSAValue:
    """Combine digits, the lowest first; what the last one has beyond 32 bits is dropped."""
    word = digits[0]
    for i, digit in enumerate(digits[1:], start=1):
        word = b.binary("or", b.binary_number("shift_left", digit, i * _DIGIT), word)
    return word
