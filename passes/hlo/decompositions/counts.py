"""Recognise iota-like index operands, as argmax and argsort have them."""

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_integer
from neuronir.passes.hlo.support.values import constant, element, integer, ints, producer


def counts_along(value: SSAValue, axis: int) -> bool:
    """Return whether an integer operand is the index along the axis, as in argsort."""
    if not is_integer(element(value)) or byte_size(element(value)) < 4:
        return False
    spread = producer(value, "broadcast")
    if spread is not None:
        inner = spread.operands[0]
        made = producer(inner, "iota")
        if made is None:
            return False
        return ints(spread, "dimensions")[integer(made, "iota_dimension")] == axis
    made = producer(value, "iota")
    if made is not None:
        return integer(made, "iota_dimension") == axis
    array = constant(value)
    if array is None:
        return False
    along = [-1 if d == axis else 1 for d in range(array.ndim)]
    wanted = np.arange(array.shape[axis]).reshape(along)
    return bool(np.all(array == wanted))
