"""Find uniform values."""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.tile.rules import shape_of


def number_of(value: SSAValue) -> float | None:
    """Return the constant that fills a value, or None."""
    op = value.owner
    while isinstance(op, Operation) and op.name in (
        "hlo.broadcast",
        "hlo.reshape",
        "hlo.transpose",
        "hlo.slice",
        "tensor.extract_slice",
    ):
        value = op.operands[0]
        op = value.owner
    if isinstance(op, Operation) and op.name == "hlo.constant" and prod(shape_of(value)) == 1:
        return float(constant_array(op).reshape(-1)[0])
    return None
