"""List composites that work on whole rows and stay composites on tiles."""

from typing import TypeGuard

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.decompositions.row_networks import (
    BITONIC,
    SORT_PAIRS,
    SORT_ROWS,
    flag,
)
from neuronir.passes.hlo.decompositions.row_tops import TOP_CODES, TOP_ROWS
from neuronir.passes.hlo.decompositions.searches import FIRST_MATCH

ORDERS = frozenset((SORT_ROWS, SORT_PAIRS, TOP_CODES, TOP_ROWS))
"""Kinds that reorder rows, along the last dimension of all operands and results."""
ROWS = frozenset((FIRST_MATCH,)) | ORDERS
"""Kinds whose rows, along dimension `axes` of the first operand, are on the free axis."""


def rule_name(op: Operation) -> str:
    """Return the rule name of an op: its kind for a composite of rows."""
    if of_rows(op):
        return f"{op.name}.{op.kind.data}"
    return op.name


def axis_of(op: CompositeOp) -> int:
    """Return the dimension of the rows."""
    (axis,) = ints(op.params.data["axes"])
    return axis


def count_of(op: CompositeOp) -> int:
    """Return how many elements of a row are selected."""
    count = op.params.data["k"]
    assert isinstance(count, IntegerAttr)
    return int(count.value.data)


def of_rows(op: Operation) -> TypeGuard[CompositeOp]:
    """Return whether an op is a composite of rows."""
    return isinstance(op, CompositeOp) and op.kind.data in ROWS


def row_passes(op: CompositeOp) -> float:
    """Return the passes of a composite over its rows, of one element a partition a cycle."""
    if op.kind.data in (TOP_CODES, TOP_ROWS):
        return 3.0 * -(-count_of(op) // 8) + 3.0 * (op.kind.data == TOP_CODES)
    if op.kind.data == FIRST_MATCH:
        return 3.0
    steps = (shape_of(op.operands[0])[axis_of(op)] - 1).bit_length()
    if flag(op.params, BITONIC):
        return 3.0 * len(op.operands) * steps
    return 1.5 * len(op.operands) * steps * (steps + 1)
