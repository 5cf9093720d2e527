"""Arithmetic modulo 2^32 on 32-bit integers, in steps that fp32 computes exactly.

Numbers are cut into halves (or smaller digits) by operators on bits, which are exact. Sums of
halves have at most 18 bits and products of digits at most 24; what is carried goes into the upper
half, and the halves are put together by operators on bits again. No intermediate result is
negative, so unsigned types are as good as signed ones.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_unsigned
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, splat

HALF = 16
LOW = (1 << HALF) - 1
_DIGIT = 12
"""Bits of the digits of factors: products have 24."""


class Words:
    """Computes with s32 or u32 values of one type."""

    def __init__(self, e: Emitter) -> None:
        self.e = e

    def low(self, x: SSAValue) -> SSAValue:
        """The lower 16 bits, as a number."""
        return self.digit(x, 0, HALF)

    def high(self, x: SSAValue) -> SSAValue:
        """The upper 16 bits, as a number that is not negative."""
        return self.digit(x, HALF, HALF)

    def digit(self, x: SSAValue, start: int, bits: int) -> SSAValue:
        """`bits` bits from bit `start` on, as a number that is not negative."""
        number = splat(x)
        if number is not None:
            return self.e.fill_like((int(number) >> start) & ((1 << bits) - 1), x)
        if start:
            x = self.e.binary_number("shift_right_logical", x, start)
        return x if start + bits >= 32 else self.masked(x, bits)

    def masked(self, x: SSAValue, bits: int) -> SSAValue:
        """The lowest bits only."""
        return self.e.binary_number("and", x, (1 << bits) - 1)

    def joined(self, high: SSAValue, low: SSAValue) -> SSAValue:
        """The word whose upper half are the lowest 16 bits of `high`, and its lower half `low`."""
        return self.e.binary("or", self.e.binary_number("shift_left", high, HALF), low)

    def add(self, x: SSAValue, y: SSAValue, more: SSAValue | None = None) -> SSAValue:
        """x + y, plus `more` (below 2^20) times 2^16."""
        low = self.e.binary("add", self.low(x), self.low(y))
        high = self.e.binary("add", self.high(x), self.high(y))
        high = self.e.binary("add", high, self.e.binary_number("shift_right_logical", low, HALF))
        if more is not None:
            high = self.e.binary("add", high, more)
        return self.joined(high, self.masked(low, HALF))

    def subtract(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y: both halves have 2^16 added, of which the lower one's is taken from the upper."""
        low = self.e.binary_number("add", self.low(x), 1 << HALF)
        low = self.e.binary("subtract", low, self.low(y))
        high = self.e.binary_number("add", self.high(x), (1 << HALF) - 1)
        high = self.e.binary("subtract", high, self.high(y))
        high = self.e.binary("add", high, self.e.binary_number("shift_right_logical", low, HALF))
        return self.joined(high, self.masked(low, HALF))

    def negate(self, x: SSAValue) -> SSAValue:
        """0 - x."""
        return self.subtract(self.e.fill_like(0, x), x)

    def multiply(self, x: SSAValue, y: SSAValue, ranges: Sequence[Interval]) -> SSAValue:
        """x * y; `ranges` tell which digits of small numbers are zero."""
        for one, other in ((x, y), (y, x)):
            number = splat(other)
            factor = 0 if number is None else int(number) & 0xFFFFFFFF
            if factor and factor & (factor - 1) == 0:
                places = factor.bit_length() - 1
                return self.e.binary_number("shift_left", one, places) if places else one
        digits = [self._digits(v, r) for v, r in zip((x, y), ranges, strict=True)]
        sums: list[SSAValue | None] = []
        for place in range(3):
            total: SSAValue | None = None
            for i, a in enumerate(digits[0]):
                if not 0 <= place - i < len(digits[1]):
                    continue
                part = self.e.binary("multiply", a, digits[1][place - i])
                if place:  # only what the word has room for
                    part = self.masked(part, 32 - _DIGIT * place)
                total = part if total is None else self.e.binary("add", total, part)
            sums.append(total)
        first, second, third = sums
        assert first is not None
        if second is None:
            return first
        more = None if third is None else self._upper(third)
        return self.add(first, self.e.binary_number("shift_left", second, _DIGIT), more)

    def _upper(self, third: SSAValue) -> SSAValue:
        """What counts for 2^24, in units of 2^16."""
        return self.e.binary_number("shift_left", third, 2 * _DIGIT - HALF)

    def _digits(self, x: SSAValue, r: Interval) -> list[SSAValue]:
        bits = int(r.high).bit_length() if r.low >= 0 else 32
        starts = range(0, max(bits, 1), _DIGIT)
        return [self.digit(x, start, min(_DIGIT, 32 - start)) for start in starts]

    def compare(self, x: SSAValue, y: SSAValue, direction: str) -> SSAValue:
        """A comparison: by the upper halves, and where these are equal by the lower ones."""
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
