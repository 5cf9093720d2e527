"""Decompose cholesky and triangular_solve of small matrices, column by column.

Each step subtracts an outer product from the remaining matrix, elementwise for the whole batch. The
number of steps is the size of the matrix.
"""

from typing import cast

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, shape, string
from neuronir.passes.hlo.support.walk import Rule

LARGEST = 64
"""Larger matrices would need too many instructions."""


def _flag(op: Operation, name: str) -> bool:
    value = op.properties[name]
    return bool(cast(BoolAttr, value).value.data)


def _swapped(value: SSAValue, e: Emitter) -> SSAValue:
    """Transpose the matrices."""
    rank = len(shape(value))
    return e.transpose(value, (*range(rank - 2), rank - 1, rank - 2))


def _part(value: SSAValue, rows: tuple[int, int], columns: tuple[int, int], e: Emitter) -> SSAValue:
    """Return a block of each matrix."""
    outer = shape(value)[:-2]
    low = [*[0] * len(outer), rows[0], columns[0]]
    return e.slice(value, low, [*outer, rows[1], columns[1]])


def _outer(column: SSAValue, row: SSAValue, e: Emitter) -> SSAValue:
    """Multiply a column by a row of each matrix."""
    *outer, height, _ = shape(column)
    width = shape(row)[-1]
    dims = (*outer, height, width)
    places = range(len(outer))
    tall = e.broadcast(e.reshape(column, (*outer, height)), dims, (*places, len(outer)))
    wide = e.broadcast(e.reshape(row, (*outer, width)), dims, (*places, len(outer) + 1))
    return e.binary("multiply", tall, wide)


def _shift_down(value: SSAValue, above: int, e: Emitter) -> SSAValue:
    """Insert rows of zeros above."""
    rank = len(shape(value))
    low = [0] * rank
    low[-2] = above
    return e.pad(value, e.scalar(0, element(value)), low, [0] * rank)


def cholesky(op: Operation, e: Emitter) -> SSAValue | None:
    """Divide each column j by the root of its diagonal element, and subtract its outer product.

    The outer product is subtracted from the columns to the right.
    """
    a, lower = op.operands[0], _flag(op, "lower")
    n = shape(a)[-1]
    if n == 0 or n > LARGEST or not is_float(element(a)):
        return None
    rest = a if lower else _swapped(a, e)
    columns: list[SSAValue] = []
    for j in range(n):
        left = n - j
        root = e.unary("rsqrt", _part(rest, (0, 1), (0, 1), e))
        column = _part(rest, (0, left), (0, 1), e)
        whole = e.broadcast(
            e.reshape(root, shape(root)[:-2]), shape(column), range(len(shape(root)) - 2)
        )
        column = e.binary("multiply", column, whole)
        columns.append(_shift_down(column, j, e))
        if left > 1:
            below = _part(column, (1, left), (0, 1), e)
            product = _outer(below, _swapped(below, e), e)
            rest = e.binary("subtract", _part(rest, (1, left), (1, left), e), product)
    factor = e.concatenate(columns, len(shape(a)) - 1)
    return factor if lower else _swapped(factor, e)


def triangular_solve(op: Operation, e: Emitter) -> SSAValue | None:
    """Divide row i of the right-hand side by the diagonal element, and eliminate it.

    Its product with column i is subtracted from the unsolved rows.
    """
    a, b = op.operands
    n = shape(a)[-1]
    if n == 0 or n > LARGEST or not is_float(element(a)):
        return None
    lower, left_side = _flag(op, "lower"), _flag(op, "left_side")
    if string(op, "transpose_a") != "NO_TRANSPOSE":
        a, lower = _swapped(a, e), not lower
    if not left_side:  # x a = b is equivalent to a^T x^T = b^T
        a, b, lower = _swapped(a, e), _swapped(b, e), not lower
    rows: list[SSAValue] = []
    for i in range(n) if lower else range(n - 1, -1, -1):
        # The unsolved rows: i to n in forward order, 0 to i in backward order.
        first, last = (i, n) if lower else (0, i + 1)
        count = last - first
        at = 0 if lower else count - 1
        row = _part(b, (at, at + 1), (0, shape(b)[-1]), e)
        if not _flag(op, "unit_diagonal"):
            pivot = _part(a, (i, i + 1), (i, i + 1), e)
            dims = shape(pivot)[:-2]
            pivot = e.broadcast(e.reshape(pivot, dims), shape(row), range(len(dims)))
            row = e.binary("divide", row, pivot)
        rows.append(row)
        if count > 1:
            others = (first + 1, last) if lower else (first, last - 1)
            column = _part(a, others, (i, i + 1), e)
            unsolved = (1, count) if lower else (0, count - 1)
            kept = _part(b, unsolved, (0, shape(b)[-1]), e)
            b = e.binary("subtract", kept, _outer(column, row, e))
    solution = e.concatenate(rows if lower else rows[::-1], len(shape(a)) - 2)
    return solution if left_side else _swapped(solution, e)


RULES: dict[str, Rule] = {"cholesky": cholesky, "triangular_solve": triangular_solve}
