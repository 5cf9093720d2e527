"""Represent intervals of values, and operators on them.

Bounds of integers are exact Python integers; those of floats may be infinite. NaN is in every
interval, because the conversion of NaN to an integer (0) does not depend on the integer's width.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

Number = int | float


@dataclass(frozen=True)
class Interval:
    """All values from `low` to `high`."""

    low: Number
    high: Number

    def within(self, other: "Interval") -> bool:
        """Return whether all values are in another interval."""
        return other.low <= self.low and self.high <= other.high

    @property
    def size(self) -> Number:
        """Return the largest magnitude."""
        return max(abs(self.low), abs(self.high))


ALL = Interval(-math.inf, math.inf)
BOOL = Interval(0, 1)
_ENORMOUS = 1 << 1000
"""Integers beyond this need not be distinguished, because no machine holds them."""


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval that contains several."""
    listed = list(intervals)
    return Interval(min(i.low for i in listed), max(i.high for i in listed))


def _corners(function: Callable[[Number, Number], Number], a: Interval, b: Interval) -> Interval:
    found = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(found), max(found))


def _times(x: Number, y: Number) -> Number:
    return 0 if x == 0 or y == 0 else x * y


def _plus(x: Number, y: Number, infinite: float) -> Number:
    total = x + y
    return infinite if math.isinf(x) and math.isinf(y) and x != y else total


def add(a: Interval, b: Interval) -> Interval:
    """Return the interval of a + b."""
    return Interval(_plus(a.low, b.low, -math.inf), _plus(a.high, b.high, math.inf))


def negate(a: Interval) -> Interval:
    """Return the interval of -a."""
    return Interval(-a.high, -a.low)


def subtract(a: Interval, b: Interval) -> Interval:
    """Return the interval of a - b."""
    return add(a, negate(b))


def multiply(a: Interval, b: Interval) -> Interval:
    """Return the interval of a * b."""
    return _corners(_times, a, b)


def maximum(a: Interval, b: Interval) -> Interval:
    """Return the interval of max(a, b)."""
    return Interval(max(a.low, b.low), max(a.high, b.high))


def minimum(a: Interval, b: Interval) -> Interval:
    """Return the interval of min(a, b)."""
    return Interval(min(a.low, b.low), min(a.high, b.high))


def absolute(a: Interval) -> Interval:
    """Return the interval of |a|."""
    least = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(least, a.size)


def sums(a: Interval, least: int, most: int) -> Interval:
    """Return the interval of sums of `least` to `most` values."""
    return multiply(a, Interval(least, most))


def products(a: Interval, most: int) -> Interval:
    """Return the interval of products of up to `most` values."""
    size = _to_the(a.size, most)
    return Interval(-size if a.low < 0 else min(0, a.low), max(size, 1))


def _to_the(size: Number, count: Number) -> Number:
    """Return size ** count for a nonnegative size and count."""
    if size <= 1 or count <= 1:
        return max(size, 1) if count < 1 else size
    if math.isinf(size) or math.isinf(count):
        return math.inf
    bits = math.log2(size) * count
    if bits > 1000:
        return _ENORMOUS
    whole = isinstance(size, int) and isinstance(count, int)
    return size**count if whole else _infinite_if_too_large(size, count)


def _infinite_if_too_large(size: Number, count: Number) -> float:
    try:
        return float(float(size) ** float(count))
    except OverflowError:
        return math.inf


def divide_whole(a: Interval, b: Interval, *, signed: bool = True) -> Interval:
    """Return the interval of integer division towards zero; x / 0 is -1 (undefined if unsigned)."""
    divisors = [d for d in (b.low, b.high, -1, 1) if d != 0 and b.low <= d <= b.high]
    found = [int(Fraction(x) / Fraction(d)) for x in (a.low, a.high) for d in divisors]
    if signed and b.low <= 0 <= b.high:
        found.append(-1)
    # Quotients by a large divisor reach zero.
    return Interval(min((*found, 0)), max((*found, 0)))


def divide(a: Interval, b: Interval) -> Interval:
    """Return the interval of a division of floats."""
    if b.low <= 0 <= b.high or math.isinf(a.size):
        return ALL
    return multiply(a, Interval(1 / b.high, 1 / b.low))


def remainder(a: Interval, b: Interval) -> Interval:
    """Return the interval of the remainder with the sign of a; x % 0 is x (integers)."""
    if b.low <= 0 <= b.high:
        return hull((a, Interval(0, 0)))
    return Interval(
        0 if a.low >= 0 else max(a.low, -b.size), 0 if a.high <= 0 else min(a.high, b.size)
    )


def power_whole(a: Interval, b: Interval) -> Interval:
    """Return the interval of an integer power; 1, -1 or 0 for a negative exponent."""
    size = max(_to_the(a.size, max(b.high, 0)), 1)
    return Interval(-size if a.low < 0 else 0, size)


def power(a: Interval, b: Interval) -> Interval:
    """Return the interval of a power of floats, where neither is negative."""
    if a.low < 0 or b.low < 0:
        return ALL
    return Interval(0, _to_the(max(a.high, 1), max(b.high, 1)))


def bits(a: Interval, b: Interval) -> Interval:
    """Return the interval of and, or, xor of signed integers: no more bits than the operands."""
    size = max(int(x).bit_length() for x in (a.low, a.high, b.low, b.high))
    return Interval(0 if min(a.low, b.low) >= 0 else -(1 << size), (1 << size) - 1)


def both(a: Interval, b: Interval) -> Interval:
    """Return the interval of and: not above a nonnegative operand."""
    tops = [i.high for i in (a, b) if i.low >= 0]
    return Interval(0, min(tops)) if tops else bits(a, b)


def shift_left(a: Interval, b: Interval) -> Interval:
    """Return the interval of a << b; zero for a negative amount or one of the width or more."""
    steps = [1 << min(max(int(n), 0), 64) for n in (b.low, b.high)]
    return hull((multiply(a, Interval(*steps)), Interval(0, 0)))


def shift_right(a: Interval, b: Interval) -> Interval:
    """Return the interval of a >> b with sign extension, given the least amount in b."""
    least = min(max(int(b.low), 0), 64)
    return Interval(min(int(a.low) >> least, 0), max(int(a.high) >> least, 0))


def widened(a: Interval, step: float) -> Interval:
    """Return the interval after a rounding of relative error `step`."""
    return Interval(*(_outward(n, step, sign) for n, sign in ((a.low, -1), (a.high, 1))))


def _outward(n: Number, step: float, sign: int) -> Number:
    try:
        value = float(n)
    except OverflowError:
        return math.copysign(math.inf, n)
    return value + sign * abs(value) * step
