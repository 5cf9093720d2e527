"""Import diagonals, bands and triangles of matrices, factors and solvers."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BoolAttr, i1, i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_shape, broadcast_to
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape, tensor


def _matrix(o: Op, index: int = 0) -> tuple[int, ...]:
    dims = o.dims(index)
    if len(dims) < 2:
        refuse(f"it takes matrices, has shape {list(dims)}")
    return dims


def _places(o: Op, dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Return the row and column of each element of the last two dimensions."""
    return o.b.iota(tuple(dims[-2:]), 0, i32), o.b.iota(tuple(dims[-2:]), 1, i32)


@op("MatrixBandPart")
def band_part(o: Op) -> SSAValue:
    """Keep some diagonals below and above the main one; a negative count keeps all of them."""
    b, dims = o.b, _matrix(o)
    lower, upper = o.integer(1, "num_lower"), o.integer(2, "num_upper")
    row, column = _places(o, dims)
    kept = b.fill(True, tensor(tuple(dims[-2:]), i1))
    if lower >= 0:
        kept = b.binary(
            "and", kept, b.compare_number(b.binary("subtract", row, column), lower, "LE")
        )
    if upper >= 0:
        kept = b.binary(
            "and", kept, b.compare_number(b.binary("subtract", column, row), upper, "LE")
        )
    return b.select(broadcast_to(b, kept, dims), o[0], b.fill_like(0, o[0]))


# --- diagonals


class _Bands:
    """Which diagonals, and how bands of different length are aligned in a tensor of diagonals.

    Row r of that tensor is diagonal `upper - r`. With a single diagonal the tensor has no row
    dimension.
    """

    def __init__(self, o: Op, ks: Sequence[int], rows: int, columns: int) -> None:
        if len(ks) not in (1, 2):
            refuse("k must be one or two integers")
        self.lower, self.upper = ks[0], ks[-1]
        outside = self.lower > self.upper or self.lower <= -rows or self.upper >= columns
        if outside and not (self.lower == self.upper == 0):  # also for an empty matrix
            refuse(f"diagonals {self.lower} to {self.upper} lie outside of {rows} x {columns}")
        self.rows, self.columns = rows, columns
        align = o.text("align", "LEFT_LEFT")
        if align.count("_") != 1 or set(align.split("_")) - {"LEFT", "RIGHT"}:
            refuse(f"the alignment '{align}' is not known")
        self._above, self._below = align.split("_")
        self.count = self.upper - self.lower + 1
        self.width = max(self.length(k) for k in range(self.lower, self.upper + 1))

    def length(self, k: int) -> int:
        """Return the length of a diagonal."""
        return min(self.rows + min(k, 0), self.columns - max(k, 0))

    def shift(self, k: int) -> int:
        """Return the shift of a diagonal to the right in its row of the tensor of diagonals."""
        side = self._above if k >= 0 else self._below
        return self.width - self.length(k) if side == "RIGHT" else 0


@op("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def diag_part(o: Op) -> SSAValue:
    """Return the diagonals of matrices as rows."""
    b, dims = o.b, _matrix(o)
    ks = o.ints(1, "k") if len(o) > 1 else (0,)
    bands = _Bands(o, ks, *dims[-2:])
    fill = b.reshape(o[2], ()) if len(o) > 2 else b.scalar(0, o.element())
    outer = len(dims) - 2
    parts = []
    for k in range(bands.upper, bands.lower - 1, -1):
        part = _diagonal(o, o[0], k, bands.length(k))
        shift = bands.shift(k)
        high = bands.width - bands.length(k) - shift
        part = b.pad(part, fill, [0] * outer + [shift], [0] * outer + [high])
        parts.append(b.reshape(part, (*dims[:-2], 1, bands.width)))
    whole = b.concatenate(parts, outer)
    return b.reshape(whole, (*dims[:-2], bands.width)) if len(set(ks)) == 1 else whole


def _diagonal(o: Op, value: SSAValue, k: int, length: int) -> SSAValue:
    """Return diagonal k: of a flattened square slice, every (length + 1)th element."""
    b, dims = o.b, shape(value)
    outer = list(dims[:-2])
    row, column = max(-k, 0), max(k, 0)
    low = [0] * len(outer) + [row, column]
    square = b.slice(value, low, [*outer, row + length, column + length])
    flat = b.reshape(square, (*outer, length * length))
    starts = [0] * len(dims[:-1])
    return b.slice(flat, starts, [*outer, length * length], [1] * len(outer) + [length + 1])


def _spread(o: Op, diagonals: SSAValue, bands: _Bands, base: SSAValue) -> SSAValue:
    """Insert diagonals in `base` (matrices): each is repeated along its direction and selected."""
    b, dims = o.b, shape(base)
    outer, columns = dims[:-2], dims[-1]
    row, column = _places(o, dims)
    offset = b.binary("subtract", column, row)
    if len(shape(diagonals)) == len(dims) - 1:
        diagonals = b.reshape(diagonals, (*outer, 1, shape(diagonals)[-1]))
    zero = b.scalar(0, o.element())
    edges = [0] * len(outer)
    for r, k in enumerate(range(bands.upper, bands.lower - 1, -1)):
        length, shift = bands.length(k), bands.shift(k)
        low = [*edges, r, shift]
        one = b.slice(diagonals, low, [*outer, r + 1, shift + length])
        # Element i is in column i + max(k, 0): shift it there and repeat it down the column.
        one = b.reshape(one, (*outer, length))
        start = max(k, 0)
        placed = b.pad(one, zero, [*edges, start], [*edges, columns - start - length])
        everywhere = along(b, placed, dims, *range(len(outer)), len(dims) - 1)
        here = broadcast_to(b, b.compare_number(offset, k, "EQ"), dims)
        base = b.select(here, everywhere, base)
    return base


@op("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3")
def diag(o: Op) -> SSAValue:
    """Build matrices with these diagonals and a constant elsewhere."""
    b, dims = o.b, o.dims()
    if not dims:
        refuse("it takes a tensor of rank 1 at least")
    ks = o.ints(1, "k") if len(o) > 1 else (0,)
    lower, upper = ks[0], ks[-1]
    outer, width = (dims[:-1] if lower == upper else dims[:-2]), dims[-1]
    rows = o.integer(2, "num_rows") if len(o) > 2 else -1
    columns = o.integer(3, "num_cols") if len(o) > 3 else -1
    least = (width - min(upper, 0), width + max(lower, 0))
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = (least[0] if rows == -1 else rows), (least[1] if columns == -1 else columns)
    if rows < least[0] or columns < least[1]:
        refuse(f"matrices of {rows} x {columns} cannot contain diagonals of {width}")
    fill = b.reshape(o[4], ()) if len(o) > 4 else b.scalar(0, o.element())
    base = b.broadcast(fill, (*outer, rows, columns), ())
    bands = _Bands(o, ks, rows, columns)
    if bands.width != width or (lower != upper and dims[-2] != bands.count):
        refuse(f"diagonals of shape {list(dims)} do not fit matrices of {rows} x {columns}")
    return _spread(o, o[0], bands, base)


@op("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3")
def set_diag(o: Op) -> SSAValue:
    """Replace diagonals of matrices."""
    dims = _matrix(o)
    ks = o.ints(2, "k") if len(o) > 2 else (0,)
    bands = _Bands(o, ks, *dims[-2:])
    wanted = (
        (*dims[:-2], bands.width) if ks[0] == ks[-1] else (*dims[:-2], bands.count, bands.width)
    )
    if o.dims(1) != wanted:
        refuse(f"diagonals of shape {list(o.dims(1))} do not fit, must be {list(wanted)}")
    return _spread(o, o[1], bands, o[0])


@op("Diag")
def diag_of_vector(o: Op) -> SSAValue:
    """Put a tensor on the diagonal of a tensor of twice its rank."""
    b, dims = o.b, o.dims()
    count = int(np.prod(dims, dtype=np.int64))
    flat = b.reshape(o[0], (count,))
    row, column = _places(o, (count, count))
    spread = along(b, flat, (count, count), 1)
    whole = b.select(b.compare(row, column, "EQ"), spread, b.fill_like(0, spread))
    return b.reshape(whole, (*dims, *dims))


@op("DiagPart")
def diag_part_of_tensor(o: Op) -> SSAValue:
    """Return the diagonal of a tensor whose shape is a shape repeated."""
    dims = o.dims()
    half = dims[: len(dims) // 2]
    if dims != half * 2:
        refuse(f"shape {list(dims)} is not a shape twice")
    count = int(np.prod(half, dtype=np.int64))
    square = o.b.reshape(o[0], (count, count))
    return o.b.reshape(_diagonal(o, square, 0, count), half)


# --- factors


@op("Cholesky", "BatchCholesky")
def cholesky(o: Op) -> SSAValue:
    """Return the lower factor of symmetric positive definite matrices."""
    dims = _matrix(o)
    if dims[-1] != dims[-2]:
        refuse(f"matrices must be square, are {list(dims)}")
    factor = o.b.op("cholesky", [o[0]], lower=True)
    row, column = _places(o, dims)
    kept = broadcast_to(o.b, o.b.compare(column, row, "LE"), dims)
    return o.b.select(kept, factor, o.b.fill_like(0, factor))


@op("MatrixTriangularSolve", "BatchMatrixTriangularSolve")
def triangular_solve(o: Op) -> SSAValue:
    """Solve triangular systems; batches broadcast."""
    b, left, right = o.b, _matrix(o, 0), _matrix(o, 1)
    outer = broadcast_shape(left[:-2], right[:-2])
    return b.op(
        "triangular_solve",
        [
            broadcast_to(b, o[0], (*outer, *left[-2:])),
            broadcast_to(b, o[1], (*outer, *right[-2:])),
        ],
        left_side=BoolAttr.from_bool(True),
        lower=o.bool("lower", True),
        unit_diagonal=False,
        transpose_a="ADJOINT" if o.bool("adjoint", False) else "NO_TRANSPOSE",
    )
