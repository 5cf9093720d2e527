"""How a large product is cut into blocks: sizes, types and the numbers that follow from them."""

from dataclasses import dataclass
from math import ceil

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.errors import NeuronError

BANKS = 4
"""Results that are summed up at a time: half of the banks, so that the others are evicted."""
PIECES = 4
"""Transfers that a block is loaded by, so that products begin when the first is there."""
BEGIN_TILES = 8
"""Tiles of the contraction that the first rows of all are loaded by: rows of 2 KiB in 16 bits."""

Tiles = tuple[int, int, int]
"""Tiles of rows, of the contraction and of columns that make a block."""


@dataclass(frozen=True)
class Problem:
    """A product [m, k] @ [k, n] of arrays in HBM. `dtype` is the type of the products, `loaded`
    those of the two arrays and `result` that of the product; `across` says of each array whether
    its contraction lies along its rows, so that PE has to transpose it."""

    m: int
    n: int
    k: int
    dtype: DType
    loaded: tuple[DType, DType]
    result: DType
    across: tuple[bool, bool]


@dataclass(frozen=True)
class Begin:
    """How a product begins whose panel is still to come: `rows` tiles of rows together, with
    `columns` tiles of columns, then `more` tiles of rows, one after the other."""

    rows: int
    columns: int
    more: int

    @property
    def tiles(self) -> int:
        """Tiles of rows in all."""
        return self.rows + self.more


@dataclass(frozen=True)
class Blocking:
    """Tiles of `rows` x `columns` with `depth` of the contraction each, and how many of them make a
    block of rows, a panel of columns and a block of the contraction. Of a side that is transposed
    `staged` tiles of rows lie in SBUF at a time, and `evicted` tiles of results. With `ramp` the
    first block of rows is code of its own, whose products begin with the first piece of the first
    step. A product of one step has `begin` instead; of its other rows DVE `shared`
    tiles of the contraction. `ns` is the estimate, `least_ns` what the products alone take at the
    peak.
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
        """Rows of a block."""
        return self.rows * self.row_tiles

    @property
    def panel_columns(self) -> int:
        """Columns of a panel."""
        return self.columns * self.column_tiles

    @property
    def block_depth(self) -> int:
        """Elements of a block of the contraction."""
        return self.depth * self.depth_tiles

    @property
    def tiles(self) -> Tiles:
        """Tiles of rows, of the contraction and of columns."""
        return self.row_tiles, self.depth_tiles, self.column_tiles

    @property
    def reuse(self) -> int:
        """Tiles of columns that share each stationary, at most."""
        return ceil(self.column_tiles / ceil(self.column_tiles / BANKS))

    def counts(self, problem: Problem) -> tuple[int, int, int]:
        """Panels, blocks of rows, blocks of the contraction."""
        return (
            -(-problem.n // self.panel_columns),
            -(-problem.m // self.block_rows),
            -(-problem.k // self.block_depth),
        )

    def uneven(self, problem: Problem) -> bool:
        """Whether the steps are an odd number of several, or the last one is shorter."""
        steps = self.counts(problem)[2]
        return steps > 1 and (steps % 2 == 1 or problem.k % self.block_depth != 0)

    def copies(self, problem: Problem) -> tuple[int, int]:
        """Buffers that the blocks of the left and the right side take in turn."""
        panels, blocks, steps = self.counts(problem)
        right = panels * blocks * steps if steps > 1 else panels  # a panel stays for all rows
        return min(2, panels * blocks * steps), min(2, right)


def tiles_of(text: str) -> Tiles | None:
    """The numbers of tiles in a text such as `8x8x4`, none where it is empty; NIR_LOW007 for
    anything else."""
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
