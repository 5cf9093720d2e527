"""Places in a product that goes block by block: positions, spans and the sides under way."""

from dataclasses import dataclass

from xdsl.ir import SSAValue

from neuronir.passes.lowering.products.matrices import Matrix


@dataclass(frozen=True)
class Place:
    """A position along a dimension: `first`, and what each round of the loops around adds."""

    first: int = 0
    terms: tuple[tuple[SSAValue, int], ...] = ()

    def plus(self, n: int) -> "Place":
        """`n` positions on."""
        return Place(self.first + n, self.terms)

    def times(self, n: int) -> "Place":
        """In units of which a position has `n`."""
        return Place(self.first * n, tuple((v, k * n) for v, k in self.terms))

    def over(self, n: int) -> "Place":
        """In units of `n` positions, of which it is a multiple."""
        return Place(self.first // n, tuple((v, k // n) for v, k in self.terms))

    def add(self, other: "Place") -> "Place":
        """The sum of two."""
        return Place(self.first + other.first, (*self.terms, *other.terms))


@dataclass(frozen=True)
class Span:
    """`count` pieces of `size` in a row, from `first` on."""

    first: int
    size: int
    count: int


def spans(extent: int, size: int) -> list[Span]:
    """A dimension in pieces of `size`, and a last one of what is left."""
    count, rest = divmod(extent, size)
    out = [Span(0, size, count)] if count else []
    return [*out, Span(count * size, rest, 1)] if rest else out


@dataclass(frozen=True)
class Held:
    """A block in SBUF: a buffer, in which it begins at `low` and the tiles of the contraction are
    `width` apart."""

    buffer: SSAValue
    width: int
    low: int = 0


@dataclass
class Side:
    """An operand under way: where it is, the buffers that its blocks take in turn (`current` is the
    one that was filled last), and where it is put once it has been transposed (`packed`)."""

    matrix: Matrix
    extent: int  # of the free dimension
    block: int  # of the free dimension
    tile: int  # that PE transposes at a time
    buffers: list[SSAValue]
    packed: SSAValue | None = None
    current: int = 0

    @property
    def blocks(self) -> int:
        """Blocks along the free dimension."""
        return -(-self.extent // self.block)

    def turn(self) -> Held:
        """The buffer whose turn is next."""
        self.current = (self.current + 1) % len(self.buffers)
        return self.held()

    def held(self) -> Held:
        """The block that was brought in last."""
        return Held(self.buffers[self.current], self.block)


@dataclass(frozen=True)
class Part:
    """A piece of the result, from (row, column) on, and the blocks of both sides for a step."""

    row: Place
    rows: int
    column: Place
    columns: int
    left: Held
    right: Held
