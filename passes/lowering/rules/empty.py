"""Handle arrays without elements: no computation, and known results of their users."""

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.layouts.types import is_empty
from neuronir.passes.lowering.layouts.values import Value, rename_dims, scalar_value
from neuronir.passes.lowering.state import Lowering


def empty_value(shape: tuple[int, ...], dtype: DType) -> Value:
    """Return an array without elements."""
    return Value(shape, dtype, (), array=np.zeros(shape, dtype.numpy))


def lower_empty(state: Lowering, op: Operation) -> bool:
    """Return whether an op was handled, because its result or an operand is empty.

    A sum of no products is 0, as is a gather from nothing. A reduction of nothing is its initial
    value, and an operand with an empty update is unchanged. concatenate and pad skip empty operands
    themselves.
    """
    if op.results and all(is_empty(result) for result in op.results):
        for result in op.results:
            state.set(result, empty_value(state.shape(result), state.dtype(result)))
        return True
    if not any(is_empty(operand) for operand in op.operands):
        return False
    gathered = op.name == "hlo.gather" and is_empty(op.operands[0])
    if gathered or op.name in ("hlo.dot", "hlo.convolution"):
        result = op.results[0]
        state.set(result, scalar_value(state.shape(result), state.dtype(result), 0))
    elif op.name == "hlo.scatter" and not is_empty(op.operands[-1]):
        return False  # indices without a dimension: there are windows, all at the start
    elif op.name in ("hlo.scatter", "hlo.dynamic_update_slice"):
        state.set(op.results[0], state.value(op.operands[0]))
    elif op.name in ("hlo.reduce", "hlo.reduce_window"):
        half = len(op.operands) // 2
        for result, initial in zip(op.results, op.operands[half:], strict=True):
            broadcast_scalar(state, result, state.value(initial))
    else:
        return False
    return True


def broadcast_scalar(state: Lowering, result: SSAValue, value: Value) -> None:
    """Set `result` to an array filled with the element of `value`."""
    shape = state.shape(result)
    if value.scalar is not None:
        state.set(result, scalar_value(shape, value.dtype, value.scalar))
    else:
        state.set(result, rename_dims(value, shape, []))
