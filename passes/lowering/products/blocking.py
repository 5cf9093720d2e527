"""Represent how a large dot is divided into blocks: sizes, types and derived values."""

from dataclasses import dataclass
from math import ceil

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.errors import NeuronError

BANKS = 4
"""Results summed at a time: half of the banks, so that the others are evicted."""
PIECES = 4
"""Transfers per block, so that dots start when the first is complete."""
BEGIN_TILES = 8
"""Tiles of the contraction by which the very first rows are loaded: rows of 2 KiB in 16 bits."""

Tiles = tuple[int, int, int]
"""Tiles of rows, of the contraction and of columns in a block."""


@dataclass(frozen=True)
class Problem:
    """A dot [m, k] @ [k, n] of arrays in HBM.

    `dtype` is the operand type, `loaded` are the types of the two arrays, and `result` is the type
    of the result. `transposed` states, for each array, whether it is contracted along its rows, so
    that PE must transpose it.
    """

    m: int
    n: int
    k: int
    dtype: DType
    loaded: tuple[DType, DType]
    result: DType
    transposed: tuple[bool, bool]


@dataclass(frozen=True)
class Begin:
    """How a dot starts while its panel is still being loaded.

    `rows` tiles of rows are computed together with `columns` tiles of columns, then `more` tiles of
    rows one by one.
    """

    rows: int
    columns: int
    more: int

    @property
    def tiles(self) -> int:
        """Return the total tiles of rows."""
        return self.rows + self.more


@dataclass(frozen=True)
class Blocking:
    """The blocking of a dot.

    Tiles are `rows` x `columns` with `depth` of the contraction. `row_tiles`, `column_tiles` and
    `depth_tiles` are the numbers of tiles in a block of rows, a panel of columns and a block of the
    contraction. For a transposed operand, `staged` tiles of rows are in SBUF at a time, and
    `evicted` is the number of tiles of results. With `ramp`, the first block of rows has its own
    code, whose dots start with the first piece of the first step. A dot of one step has `begin`
    instead, and DVE transposes `shared` tiles of the contraction of its other rows. `ns` is the
    estimate, `least_ns` the time of the dots alone at the peak rate.
    """

    rows: int
    columns: int
    depth: int
    row_tiles: int
    column_tiles: int
    depth_tiles: int
    staged: int = 2
    evicted: int = 2
    ramp: bool = False
    begin: Begin | None = None
    shared: int = 0
    ns: float = 0.0
    least_ns: float = 0.0

    @property
    def block_rows(self) -> int:
        """Return the rows of a block."""
        return self.rows * self.row_tiles

    @property
    def panel_columns(self) -> int:
        """Return the columns of a panel."""
        return self.columns * self.column_tiles

    @property
    def block_depth(self) -> int:
        """Return the elements of a block of the contraction."""
        return self.depth * self.depth_tiles

    @property
    def tiles(self) -> Tiles:
        """Return the tiles of rows, of the contraction and of columns."""
        return self.row_tiles, self.depth_tiles, self.column_tiles

    @property
    def reuse(self) -> int:
        """Return the maximum tiles of columns that share a stationary operand."""
        return ceil(self.column_tiles / ceil(self.column_tiles / BANKS))

    def counts(self, problem: Problem) -> tuple[int, int, int]:
        """Return the panels, blocks of rows, and blocks of the contraction."""
        return (
            -(-problem.n // self.panel_columns),
            -(-problem.m // self.block_rows),
            -(-problem.k // self.block_depth),
        )

    def uneven(self, problem: Problem) -> bool:
        """Return whether there is an odd number of several steps, or a shorter last one."""
        steps = self.counts(problem)[2]
        return steps > 1 and (steps % 2 == 1 or problem.k % self.block_depth != 0)

    def copies(self, problem: Problem) -> tuple[int, int]:
        """Return the buffers through which the blocks of the left and the right operand rotate."""
        panels, blocks, steps = self.counts(problem)
        right = panels * blocks * steps if steps > 1 else panels  # a panel stays for all rows
        return min(2, panels * blocks * steps), min(2, right)


def tiles_of(text: str) -> Tiles | None:
    """Parse numbers of tiles such as `8x8x4`; None if empty, NIR_LOW007 if invalid."""
    if not text:
        return None
    numbers = text.split("x")
    if len(numbers) != 3 or not all(n.isdecimal() and int(n) for n in numbers):
        raise NeuronError(
            "NIR_LOW007",
            f"hlo-choose-blocks: tiles must be three integers, not '{text}'",
            help='such as {tiles="8x8x4"}: tiles of rows, of the contraction, of columns',
        )
    rows, depth, columns = (int(n) for n in numbers)
    return rows, depth, columns
