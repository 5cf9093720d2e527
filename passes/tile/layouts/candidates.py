"""List candidate partitions of a value: one dimension, or two, on partitions."""

from functools import lru_cache
from math import prod

from neuronir.passes.lowering.layouts.layout import Atom, atom, divisor, row_major
from neuronir.passes.tile.layouts.maps import Partition, everywhere, in_order

LEAST = 2
"""Minimum positions of a digit on partitions."""


@lru_cache(maxsize=20_000)
def candidates(shape: tuple[int, ...], limit: int) -> tuple[Partition, ...]:
    """Return the candidate partitions of a value.

    These are inner or outer digits of one dimension, with as many positions as there are
    partitions, or of two dimensions; no partition; and a copy on all partitions.
    """
    found: dict[Partition, None] = {}
    singles = [(d, a) for d, n in enumerate(shape) if n >= LEAST for a in digits(shape, d, limit)]
    for _, a in singles:
        found[((a, 1),)] = None
    for d, n in enumerate(shape):
        if LEAST <= n <= limit // 2:
            (whole,) = digits(shape, d, n)
            for e, m in enumerate(shape):
                if e == d or m < LEAST:
                    continue
                for a in digits(shape, e, limit // n):
                    if a.size >= LEAST and a.size * n > limit // 2:
                        # rows that are contiguous in HBM are one transfer
                        rows = [(a, n), (whole, 1)] if e < d else [(whole, a.size), (a, 1)]
                        found[in_order(rows)] = None
    found[()] = None
    found[everywhere(prod(shape), limit)] = None
    return tuple(found)


def digits(shape: tuple[int, ...], d: int, limit: int) -> list[Atom]:
    """Return a dimension, or its largest inner and outer digits of at most `limit` positions."""
    n, stride = shape[d], row_major(shape)[d]
    if n <= limit:
        return [atom(n, stride)]
    width = divisor(n, limit)
    if width < LEAST:
        return []
    return [atom(width, stride), atom(width, stride * (n // width))]
