"""Build the counter-based generators Threefry-2x32 and Philox-4x32 of u32 words.

Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011). Counters are tensors of one
shape, and keys are scalars (constants or values of the program).
"""

from collections.abc import Callable, Sequence
from math import pi

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.semantics.random_bits import (
    PHILOX_MULTIPLIERS,
    PHILOX_WEYL,
    THREEFRY_PARITY,
    THREEFRY_ROTATIONS,
)
from neuronir.passes.hlo.integers.pairs import WIDTH, Pair
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import shape

Product = Callable[[Builder, SSAValue, SSAValue], Pair]
"""Multiplies u32 values to 64 bits."""
Key = tuple[SSAValue, SSAValue]
"""The two u32 scalars of a key."""


def threefry_2x32(
    b: Builder, counter: tuple[SSAValue, SSAValue], key: Key
) -> tuple[SSAValue, SSAValue]:
    """Apply the twenty rounds of Threefry to pairs of u32."""
    parity = b.binary_number("xor", b.binary("xor", *key), THREEFRY_PARITY)
    keys = [*key, parity]
    x, y = (b.binary("add", v, _like(b, k, v)) for v, k in zip(counter, key, strict=True))
    for group in range(5):
        for amount in THREEFRY_ROTATIONS[group % 2]:
            x = b.binary("add", x, y)
            y = _rotated_xor(b, y, amount, x)
        x = b.binary("add", x, _like(b, keys[(group + 1) % 3], x))
        second = b.binary_number("add", keys[(group + 2) % 3], group + 1)
        y = b.binary("add", y, _like(b, second, y))
    return x, y


def _rotated_xor(b: Builder, y: SSAValue, amount: int, x: SSAValue) -> SSAValue:
    """Compute rotate_left(y, amount) ^ x, one shifted part after the other.

    DVE computes a shift by a constant and the xor with a tensor in one instruction.
    """
    part = b.binary("xor", b.binary_number("shift_left", y, amount), x)
    return b.binary("xor", b.binary_number("shift_right_logical", y, WIDTH - amount), part)


def philox_4x32(
    b: Builder, counter: Sequence[SSAValue], key: Key, product: Product
) -> list[SSAValue]:
    """Apply the ten rounds of Philox to quadruples of u32."""
    x = list(counter)
    for i in range(10):
        products = [
            product(b, v, b.fill_like(m, v))
            for v, m in zip((x[0], x[2]), PHILOX_MULTIPLIERS, strict=True)
        ]
        keys = [
            b.binary_number("add", k, (i * step) % (1 << WIDTH)) if i else k
            for k, step in zip(key, PHILOX_WEYL, strict=True)
        ]
        odd = [
            b.binary("xor", products[1 - j].high, b.binary("xor", x[1 + 2 * j], _like(b, k, x[0])))
            for j, k in enumerate(keys)
        ]
        x = [odd[0], products[1].low, odd[1], products[0].low]
    return x


def unit_interval(b: Builder, bits: SSAValue) -> SSAValue:
    """Convert random u32 values to f32 in [0, 1): the upper 23 bits are the mantissa of 1 to 2,
    less 1.
    """
    mantissa = b.binary_number("shift_right_logical", bits, 9)
    one = b.binary_number("or", mantissa, 0x3F800000)
    return b.binary_number("subtract", b.bitcast(one, f32), 1)


def box_muller(b: Builder, first: SSAValue, second: SSAValue) -> SSAValue:
    """Return f32 values of the standard normal distribution, given two in [0, 1)."""
    # 1 - u is in (0, 1], so that the logarithm is finite.
    log = b.unary("log", b.binary("subtract", b.fill_like(1, first), first))
    radius = b.unary("sqrt", b.binary_number("multiply", log, -2))
    return b.binary(
        "multiply", radius, b.unary("cosine", b.binary_number("multiply", second, 2 * pi))
    )


def _like(b: Builder, scalar: SSAValue, value: SSAValue) -> SSAValue:
    return b.broadcast(scalar, shape(value), ())
