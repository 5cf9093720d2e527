"""Evaluate one op on arrays, for the interpreter and the constant folder."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

# Importing the binders registers them.
from neuronir.dialects.hlo.semantics import (
    bind_collective,
    bind_control,
    bind_custom,
    bind_elementwise,
    bind_loops,
    bind_movement,
    bind_numeric,
    bind_reduction,
)
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.hlo.semantics.registry import bind

BINDERS = (
    bind_collective,
    bind_control,
    bind_custom,
    bind_elementwise,
    bind_loops,
    bind_movement,
    bind_numeric,
    bind_reduction,
)


def evaluate(op: Operation, operands: Sequence[Value]) -> tuple[Value, ...]:
    """Return the results of one op (regions included) for the values of its operands.

    Operands are never written to, but a result may be a view of an operand.
    """
    with np.errstate(all="ignore"):
        value = bind(op)(*operands)
    return (value if isinstance(value, tuple) else np.asarray(value),)
