"""Generate random bits with arithmetic on counters: identical on every machine and in every run."""

import zlib
from collections.abc import Sequence
from math import pi, prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import from_hlo_name
from neuronir.frontends.graph.block import BlockBuilder, refuse

U32 = from_hlo_name("u32")
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(b: BlockBuilder, count: int, key: tuple[int, int]) -> SSAValue:
    """Generate `count` random u32 values: the first words of threefry-2x32 with 20 rounds.

    The counters are (i, 0) (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
    """
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    x = b.binary_number("add", b.iota((count,), 0, U32), keys[0])
    y = b.fill_like(keys[1], x)
    for group in range(5):
        for amount in _ROTATIONS[group % 2]:
            x = b.binary("add", x, y)
            left = b.binary_number("shift_left", y, amount)
            right = b.binary_number("shift_right_logical", y, 32 - amount)
            y = b.binary("xor", b.binary("or", left, right), x)
        x = b.binary_number("add", x, keys[(group + 1) % 3])
        y = b.binary_number("add", y, (keys[(group + 2) % 3] + group + 1) % (1 << 32))
    return x


def unit_interval(b: BlockBuilder, bits: SSAValue) -> SSAValue:
    """Convert random u32 values to f32 in [0, 1): the upper 23 bits are the mantissa of 1 to 2,
    less 1.
    """
    mantissa = b.binary_number("shift_right_logical", bits, 9)
    one = b.binary_number("or", mantissa, 0x3F800000)
    return b.binary_number("subtract", b.bitcast(one, f32), 1)


def key_of(name: str, seed: int | None = None) -> tuple[int, int]:
    """Return the key of an operator's random stream: its seed (32 bits), else a hash of its
    name.
    """
    return (zlib.crc32(name.encode()), 0) if seed is None else (seed % (1 << 32), 1)


def uniform(b: BlockBuilder, dims: Sequence[int], key: tuple[int, int]) -> SSAValue:
    """Generate f32 values in [0, 1) that are multiples of 2^-23."""
    if any(n < 0 for n in dims):
        refuse(f"random numbers of shape {list(dims)} cannot be generated")
    return b.reshape(unit_interval(b, threefry(b, prod(dims), key)), dims)


def normal(b: BlockBuilder, dims: Sequence[int], key: tuple[int, int]) -> SSAValue:
    """Generate f32 values of the standard normal distribution with the Box-Muller transform."""
    both = uniform(b, (2, *dims), key)
    rest = [0] * len(dims)
    first, second = (b.reshape(b.slice(both, [i, *rest], [i + 1, *dims]), dims) for i in (0, 1))
    # 1 - u is in (0, 1], so that the logarithm is finite.
    log = b.unary("log", b.binary("subtract", b.fill_like(1, first), first))
    radius = b.unary("sqrt", b.binary_number("multiply", log, -2))
    angle = b.unary("cosine", b.binary_number("multiply", second, 2 * pi))
    return b.binary("multiply", radius, angle)
