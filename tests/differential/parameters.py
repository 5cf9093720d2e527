"""Parameters of random programs, and their sizes, which lie around the bounds of tiles."""

from collections.abc import Sequence

from tests.differential.generate import Item, Program

SIZES = (1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 300, 513)
MAX_ELEMENTS = 40_000


def parameter(p: Program, type_: str, shape: Sequence[int]) -> Item:
    """A new argument."""
    item = p.add(type_, shape, f"parameter({len(p.parameters)})")
    p.parameters.append(item)
    return item


def size(p: Program, others: int = 1, options: Sequence[int] = SIZES) -> int:
    """A size that, times `others`, is not too large."""
    return p.pick([n for n in options if n * others <= MAX_ELEMENTS] or [1])  # type: ignore[no-any-return]
