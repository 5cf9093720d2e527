"""Generate random bits with arithmetic on counters: identical on every machine and in every run."""

import zlib
from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.passes.hlo.integers.generators import box_muller, threefry_2x32, unit_interval
from neuronir.passes.hlo.integers.pairs import U32


def threefry(b: BlockBuilder, count: int, key: tuple[int, int]) -> SSAValue:
    """Generate `count` random u32 values: the first words of threefry-2x32 with 20 rounds.

    The counters are (i, 0).
    """
    low = b.iota((count,), 0, U32)
    keys = b.scalar(key[0], U32), b.scalar(key[1], U32)
    return threefry_2x32(b, (low, b.fill_like(0, low)), keys)[0]


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
    return box_muller(b, first, second)
