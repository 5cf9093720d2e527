"""Evaluate values that depend on constants only, with the reference semantics."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.hlo.constants import constant_array, lazy_constant
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.resources import is_large
from neuronir.dialects.hlo.semantics import evaluate
from neuronir.dialects.hlo.semantics.numeric import is_float
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.lazy import LazyArray
from neuronir.passes.hlo.support.values import element, is_tensor, size

_NEVER = frozenset(
    f"hlo.{name}"
    for name in (
        "rng rng_bit_generator rng_get_and_update_state custom_call call infeed outfeed send recv "
        "send_done recv_done all_reduce all_gather all_to_all reduce_scatter collective_permute "
        "collective_broadcast partition_id replica_id after_all while conditional tuple "
        "get_tuple_element optimization_barrier composite return fusion async_start async_done "
        "async_update all_reduce_start all_reduce_done all_gather_start all_gather_done "
        "collective_permute_start collective_permute_done copy_start copy_done fft cholesky "
        "triangular_solve topk domain add_dependency"
    ).split()
)


def can_evaluate(op: Operation) -> bool:
    """Return whether the op is a pure function from arrays to one array."""
    return (
        op.name.startswith("hlo.")
        and op.name not in _NEVER
        and len(op.results) == 1
        and is_tensor(op.results[0])
        and all(is_tensor(v) for v in op.operands)
    )


def evaluate_op(op: Operation, operands: list[Array]) -> Array:
    """Return the value of an op that `can_evaluate` accepts."""
    if op.name == "hlo.constant":
        return constant_array(op)
    result = evaluate(op, operands)[0]
    if isinstance(result, tuple):
        raise TypeError(f"{op.name} gives a tuple")
    return result


def lazy_value(op: Operation, operands: Sequence[Array | LazyArray]) -> Array | LazyArray:
    """Return the value of an op that `can_evaluate` accepts.

    The value of a large constant, and of its conversion to another float type, is lazy.
    """
    if op.name == "hlo.constant":
        return lazy_constant(op)
    if op.name == "hlo.convert":
        (array,), dtype = operands, np_dtype(element(op.results[0]))
        if is_large(array.size * dtype.itemsize) and array.dtype == np.float32 and is_float(dtype):
            if isinstance(array, LazyArray):
                return cast(Array | LazyArray, array.astype(dtype))
            if array.flags.c_contiguous:
                return LazyArray.of(array, dtype)
    return evaluate_op(op, [np.asarray(array) for array in operands])


def known_value(
    value: SSAValue, known: dict[SSAValue, Array | None], largest: int = 4096
) -> Array | None:
    """Return the array of a value that follows from constants and `known`, else None.

    Results are memoised in `known`. Values of more than `largest` elements are not evaluated. The
    traversal is iterative, because chains may be long.
    """
    stack = [value]
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        if not isinstance(top, OpResult) or not can_evaluate(top.op) or size(top) > largest:
            known[top] = None
            continue
        missing = [v for v in top.op.operands if v not in known]
        if missing:
            stack.extend(missing)
            continue
        operands = [known[v] for v in top.op.operands]
        arrays = [a for a in operands if a is not None]
        known[top] = evaluate_op(top.op, arrays) if len(arrays) == len(operands) else None
    return known[value]
