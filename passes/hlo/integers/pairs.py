"""Compute modulo 2^64 on pairs of u32 values: the low and the high half of each integer."""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import SSAValue

from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, is_tensor, shape, splat, tensor

U32 = IntegerType(32, Signedness.UNSIGNED)
U64 = IntegerType(64, Signedness.UNSIGNED)
WIDTH = 32
_HALF = 16
_LOW = (1 << _HALF) - 1


@dataclass(frozen=True)
class Pair:
    """The halves of 64-bit integers: u32 tensors of one shape."""

    low: SSAValue
    high: SSAValue


def is_wide(value: SSAValue) -> bool:
    """Return whether a value is a u64 tensor."""
    return is_tensor(value) and element(value) == U64


def zeros_like(b: Builder, x: SSAValue) -> SSAValue:
    """Return u32 zeros of the shape of `x`."""
    return b.fill(0, tensor(shape(x), U32))


def full_product(b: Builder, x: SSAValue, y: SSAValue) -> Pair:
    """Multiply u32 values to 64 bits.

    The high half is the sum of products of 16-bit halves. No partial sum exceeds 32 bits:
    (2^16 - 1)^2 + 2^16 - 1 < 2^32.
    """
    (x0, x1), (y0, y1) = _halves(b, x), _halves(b, y)
    lowest = b.binary_number("shift_right_logical", b.binary("multiply", x0, y0), _HALF)
    middle = b.binary("add", b.binary("multiply", x1, y0), lowest)
    other = b.binary("multiply", x0, y1)
    other = b.binary("add", other, b.binary_number("and", middle, _LOW))
    high = b.binary("multiply", x1, y1)
    for part in (middle, other):
        high = b.binary("add", high, b.binary_number("shift_right_logical", part, _HALF))
    return Pair(b.binary("multiply", x, y), high)


def _halves(b: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the low and the high 16 bits."""
    number = splat(x)
    if number is not None:
        low, high = int(number) & _LOW, int(number) >> _HALF
        return b.fill_like(low, x), b.fill_like(high, x)
    return b.binary_number("and", x, _LOW), b.binary_number("shift_right_logical", x, _HALF)


def add(b: Builder, x: Pair, y: Pair) -> Pair:
    """Compute x + y: the sum of the low halves is below an operand if it carries."""
    low = b.binary("add", x.low, y.low)
    carry = b.convert(b.compare(low, x.low, "LT"), U32)
    return Pair(low, b.binary("add", b.binary("add", x.high, y.high), carry))


def subtract(b: Builder, x: Pair, y: Pair) -> Pair:
    """Compute x - y, with a borrow if the low half of y is larger."""
    borrow = b.convert(b.compare(x.low, y.low, "LT"), U32)
    high = b.binary("subtract", b.binary("subtract", x.high, y.high), borrow)
    return Pair(b.binary("subtract", x.low, y.low), high)


def multiply(b: Builder, x: Pair, y: Pair) -> Pair:
    """Compute x * y."""
    product = full_product(b, x.low, y.low)
    high = b.binary("add", product.high, b.binary("multiply", x.low, y.high))
    return Pair(product.low, b.binary("add", high, b.binary("multiply", x.high, y.low)))


def shift(b: Builder, opcode: str, x: Pair, amount: int) -> Pair:
    """Compute x << amount (`shift_left`) or x >> amount (`shift_right_logical`)."""
    left = opcode == "shift_left"
    # Bits leave the source and enter the target.
    source, target = (x.low, x.high) if left else (x.high, x.low)
    for _ in range(min(amount // WIDTH, 2)):
        source, target = zeros_like(b, x.low), source
    amount %= WIDTH
    if amount:
        back = "shift_right_logical" if left else "shift_left"
        entering = b.binary_number(back, source, WIDTH - amount)
        target = b.binary("or", b.binary_number(opcode, target, amount), entering)
        source = b.binary_number(opcode, source, amount)
    return Pair(source, target) if left else Pair(target, source)


def compare(b: Builder, x: Pair, y: Pair, direction: str) -> SSAValue:
    """Compare unsigned integers by the high halves, and if they are equal by the low halves."""
    if direction in ("EQ", "NE"):
        parts = [b.compare(p, q, direction) for p, q in ((x.low, y.low), (x.high, y.high))]
        return b.binary("and" if direction == "EQ" else "or", *parts)
    strict = "LT" if direction in ("LT", "LE") else "GT"
    low, equal = b.compare(x.low, y.low, direction), b.compare(x.high, y.high, "EQ")
    return b.binary("or", b.compare(x.high, y.high, strict), b.binary("and", equal, low))


def split(b: Builder, words: SSAValue) -> Pair:
    """Return the halves of integers whose bits are u32[..., 2], the low half first."""
    dims = shape(words)[:-1]
    parts = []
    for i in range(2):
        starts, limits = [*(0 for _ in dims), i], [*dims, i + 1]
        parts.append(b.reshape(b.slice(words, starts, limits), dims))
    return Pair(*parts)


def join(b: Builder, x: Pair) -> SSAValue:
    """Return the bits of integers as u32[..., 2], the low half first."""
    dims = shape(x.low)
    return b.concatenate([b.reshape(v, (*dims, 1)) for v in (x.low, x.high)], len(dims))
