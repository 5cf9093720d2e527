"""Compute with shapes: dimensions of size 1, common factors of two shapes, broadcast dimensions."""

from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=1 << 12)
def squeezed(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions other than those of size 1."""
    return tuple(n for n in dims if n != 1)


def same_but_ones(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether two shapes differ by dimensions of size 1 only."""
    return squeezed(a) == squeezed(b)


def common_factors(a: Sequence[int], b: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """Return the finest split of two shapes of equal size into runs of equal product.

    Each item is (dimension numbers of a, dimension numbers of b), without dimensions of size 1.
    Returns None if a shape contains a zero or the sizes differ.
    """
    if 0 in a or 0 in b:
        return None
    left = [i for i, n in enumerate(a) if n != 1]
    right = [i for i, n in enumerate(b) if n != 1]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        group: tuple[list[int], list[int]] = ([left[i]], [right[j]])
        m, n = a[left[i]], b[right[j]]
        i, j = i + 1, j + 1
        while m != n:
            if m < n and i < len(left):
                m *= a[left[i]]
                group[0].append(left[i])
                i += 1
            elif n < m and j < len(right):
                n *= b[right[j]]
                group[1].append(right[j])
                j += 1
            else:
                return None
        groups.append(group)
    return groups if i == len(left) and j == len(right) else None


def place(
    source: Sequence[int], target: Sequence[int], positions: Sequence[int]
) -> tuple[int, ...] | None:
    """Return broadcast dimensions for all of `source`, given the positions of its non-1 dimensions.

    Each 1 maps to a free dimension of size 1 of `target` between its neighbours. Returns None if
    that is not possible.
    """
    result: list[int] = []
    following = list(positions)
    last = -1
    for n in source:
        if n != 1:
            if not following or following[0] <= last:
                return None
            last = following.pop(0)
        else:
            stop = following[0] if following else len(target)
            free = next((k for k in range(last + 1, stop) if target[k] == 1), None)
            if free is None:
                return None
            last = free
        result.append(last)
    return tuple(result)
