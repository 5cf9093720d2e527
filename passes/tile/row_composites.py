"""Composites that work on whole rows, which stay what they are on tiles."""

from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.passes.hlo.decompositions.row_sorts import SORT_ROWS
from neuronir.passes.hlo.decompositions.searches import FIRST_MATCH

ROWS = frozenset((FIRST_MATCH, SORT_ROWS))
"""Their kinds: rows of dimension `axes` of the first operand lie on the free axis."""


def rule_name(op: Operation) -> str:
    """The name by which an op has its rules: that of its kind for a composite of rows."""
    if isinstance(op, CompositeOp) and op.kind.data in ROWS:
        return f"{op.name}.{op.kind.data}"
    return op.name


def axis_of(op: CompositeOp) -> int:
    """The dimension along which its rows lie."""
    (axis,) = ints(op.params.data["axes"])
    return axis
