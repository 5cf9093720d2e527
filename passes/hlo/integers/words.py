"""Compute modulo 2^32 on 32-bit integers in steps that fp32 computes exactly.

Values are split into halves (or, for products, the digits of digits.py) with bitwise operators,
which are exact. Sums of halves have at most 18 bits. Carries are added to the upper half, and
bitwise operators recombine the halves. No intermediate result is negative, so unsigned types work
like signed ones.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_unsigned
from neuronir.passes.hlo.integers.digits import digits_of, product
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, splat

HALF = 16
LOW = (1 << HALF) - 1


class Words:
    """Computes with s32 or u32 values of one type."""

    def __init__(self, e: Emitter) -> None:
        self.e = e

    def low(self, x: SSAValue) -> SSAValue:
        """Return the lower 16 bits as a nonnegative value."""
        return self.digit(x, 0, HALF)

    def high(self, x: SSAValue) -> SSAValue:
        """Return the upper 16 bits as a nonnegative value."""
        return self.digit(x, HALF, HALF)

    def digit(self, x: SSAValue, start: int, bits: int) -> SSAValue:
        """Return `bits` bits from bit `start` on, as a nonnegative value."""
        number = splat(x)
        if number is not None:
            return self.e.fill_like((int(number) >> start) & ((1 << bits) - 1), x)
        if start:
            x = self.e.binary_number("shift_right_logical", x, start)
        return x if start + bits >= 32 else self.masked(x, bits)

    def masked(self, x: SSAValue, bits: int) -> SSAValue:
        """Keep the lowest bits."""
        return self.e.binary_number("and", x, (1 << bits) - 1)

    def joined(self, high: SSAValue, low: SSAValue) -> SSAValue:
        """Combine the lowest 16 bits of `high` and the lower half `low` to a word."""
        return self.e.binary("or", self.e.binary_number("shift_left", high, HALF), low)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Compute x + y."""
        low = self.e.binary("add", self.low(x), self.low(y))
        high = self.e.binary("add", self.high(x), self.high(y))
        high = self.e.binary("add", high, self.e.binary_number("shift_right_logical", low, HALF))
        return self.joined(high, self.masked(low, HALF))

    def subtract(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """Compute x - y: both halves get 2^16 added, which the upper half subtracts for the lower
        one.
        """
        low = self.e.binary_number("add", self.low(x), 1 << HALF)
        low = self.e.binary("subtract", low, self.low(y))
        high = self.e.binary_number("add", self.high(x), (1 << HALF) - 1)
        high = self.e.binary("subtract", high, self.high(y))
        high = self.e.binary("add", high, self.e.binary_number("shift_right_logical", low, HALF))
        return self.joined(high, self.masked(low, HALF))

    def negate(self, x: SSAValue) -> SSAValue:
        """Compute 0 - x."""
        return self.subtract(self.e.fill_like(0, x), x)

    def multiply(self, x: SSAValue, y: SSAValue, ranges: Sequence[Interval]) -> SSAValue:
        """Compute x * y; `ranges` tell which digits of small values are zero."""
        for one, other in ((x, y), (y, x)):
            number = splat(other)
            factor = 0 if number is None else int(number) & 0xFFFFFFFF
            if factor and factor & (factor - 1) == 0:
                places = factor.bit_length() - 1
                return self.e.binary_number("shift_left", one, places) if places else one
        digits = [digits_of(self.e, v, _bits(r)) for v, r in zip((x, y), ranges, strict=True)]
        return product(self.e, *digits)

    def compare(self, x: SSAValue, y: SSAValue, direction: str) -> SSAValue:
        """Compare by the upper halves, and if they are equal by the lower halves."""
        e = self.e
        if direction in ("EQ", "NE"):
            return e.compare_number(e.binary("xor", x, y), 0, direction)
        if direction in ("GT", "GE"):
            return self.compare(y, x, "LT" if direction == "GT" else "LE")
        shift = "shift_right_logical" if is_unsigned(element(x)) else "shift_right_arithmetic"
        a, b = (e.binary_number(shift, v, HALF) for v in (x, y))
        equal = e.binary(
            "and", e.compare(a, b, "EQ"), e.compare(self.low(x), self.low(y), direction)
        )
        return e.binary("or", e.compare(a, b, "LT"), equal)


def _bits(r: Interval) -> int:
    return int(r.high).bit_length() if r.low >= 0 else 32
