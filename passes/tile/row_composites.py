"""Composites that work on whole rows, which stay what they are on tiles."""

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.passes.hlo.decompositions.row_sorts import SORT_PAIRS, SORT_ROWS
from neuronir.passes.hlo.decompositions.row_tops import TOP_ROWS, TOP_VALUES
from neuronir.passes.hlo.decompositions.searches import FIRST_MATCH

TOPS = frozenset((TOP_ROWS, TOP_VALUES))
"""Those whose rows become shorter."""
ORDERS = frozenset((SORT_ROWS, SORT_PAIRS)) | TOPS
"""Those that order rows, the last dimension of all that they take and make."""
ROWS = frozenset((FIRST_MATCH,)) | ORDERS
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


def count_of(op: CompositeOp) -> int:
    """How many elements of a row it takes."""
    count = op.params.data["k"]
    assert isinstance(count, IntegerAttr)
    return int(count.value.data)
