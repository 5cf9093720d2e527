"""Represent positions in a blocked dot: offsets, ranges and operands in progress."""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from neuronir.passes.lowering.products.matrices import Matrix


@dataclass(frozen=True)
class Place:
    """A position along a dimension: `first`, plus an amount per iteration of the loops around."""

    first: int = 0
    terms: tuple[tuple[SSAValue, int], ...] = ()

    def plus(self, n: int) -> "Place":
        """Return the position `n` further."""
        return Place(self.first + n, self.terms)

    def times(self, n: int) -> "Place":
        """Return it in units, of which a position has `n`."""
        return Place(self.first * n, tuple((v, k * n) for v, k in self.terms))

    def over(self, n: int) -> "Place":
        """Return it in units of `n` positions, of which it is a multiple."""
        return Place(self.first // n, tuple((v, k // n) for v, k in self.terms))

    def add(self, other: "Place") -> "Place":
        """Return the sum of two."""
        return Place(self.first + other.first, (*self.terms, *other.terms))


@dataclass(frozen=True)
class Span:
    """`count` consecutive pieces of `size`, from `first` on."""

    first: int
    size: int
    count: int


def spans(extent: int, size: int) -> list[Span]:
    """Return a dimension in pieces of `size`, with a last one for the remainder."""
    count, rest = divmod(extent, size)
    out = [Span(0, size, count)] if count else []
    return [*out, Span(count * size, rest, 1)] if rest else out


@dataclass(frozen=True)
class Held:
    """A block in SBUF: it starts at `low` of a buffer, with contraction tiles `width` apart."""

    buffer: SSAValue
    width: int
    low: int = 0


@dataclass
class Side:
    """An operand in progress.

    It has its location, the buffers through which its blocks rotate (`current` was filled last),
    and its destination after it has been transposed (`packed`).
    """

    matrix: Matrix
    extent: int  # of the free dimension
    block: int  # of the free dimension
    tile: int  # that PE transposes at a time
    buffers: list[SSAValue]
    packed: SSAValue | None = None
    current: int = 0

    @property
    def blocks(self) -> int:
        """Return the blocks along the free dimension."""
        return -(-self.extent // self.block)

    def turn(self) -> Held:
        """Return the next buffer in rotation."""
        self.current = (self.current + 1) % len(self.buffers)
        return self.held()

    def held(self) -> Held:
        """Return the last loaded block."""
        return Held(self.buffers[self.current], self.block)


@dataclass(frozen=True)
class Part:
    """A piece of the result, from (row, column) on, and the blocks of both operands for a step."""

    row: Place
    rows: int
    column: Place
    columns: int
    left: Held
    right: Held
