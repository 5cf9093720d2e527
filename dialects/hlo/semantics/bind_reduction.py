"""Bind reductions, windows, sorts and map to their functions and regions."""

from collections.abc import Callable
from functools import partial

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.semantics.bind_numeric import pairs
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.reduction import reduce
from neuronir.dialects.hlo.semantics.regions import reducer_of, single_array_function
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    flag,
    index_list,
    integer,
    result_of,
)
from neuronir.dialects.hlo.semantics.sorting import sort, top_k
from neuronir.dialects.hlo.semantics.window import PoolWindow, reduce_window, select_and_scatter


def _grouped(
    count: int, function: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]]
) -> Bound:
    """Apply `function` to the first `count` operands and the others; several results give a
    tuple.
    """

    def run(*operands: Array) -> Value:
        results = function(operands[:count], operands[count:])
        return results if count > 1 else results[0]

    return run


@binder("hlo.reduce")
def _reduce(op: Operation) -> Bound:
    dimensions = index_list(op, "dimensions")
    reducer = reducer_of(op.regions[0])
    return _grouped(
        len(op.operands) // 2, lambda inputs, start: reduce(inputs, start, dimensions, reducer)
    )


def _window(op: Operation) -> PoolWindow:
    dimensions = index_list(op, "window_dimensions")
    ones = (1,) * len(dimensions)
    padding = index_list(op, "padding") or (0,) * (2 * len(dimensions))
    return PoolWindow(
        dimensions=dimensions,
        strides=index_list(op, "window_strides") or ones,
        base_dilations=index_list(op, "base_dilations") or ones,
        window_dilations=index_list(op, "window_dilations") or ones,
        padding=pairs(padding),
    )


@binder("hlo.reduce_window")
def _reduce_window(op: Operation) -> Bound:
    window = _window(op)
    reducer = reducer_of(op.regions[0])
    return _grouped(
        len(op.operands) // 2, lambda inputs, start: reduce_window(inputs, start, window, reducer)
    )


@binder("hlo.select_and_scatter")
def _select_and_scatter(op: Operation) -> Bound:
    return partial(
        select_and_scatter,
        window=_window(op),
        select=single_array_function(op, op.regions[0]),
        reducer=reducer_of(op.regions[1]),
    )


@binder("hlo.sort")
def _sort(op: Operation) -> Bound:
    dimension = integer(op, "dimension")
    less = single_array_function(op, op.regions[0])

    def run(*operands: Array) -> Value:
        results = sort(operands, dimension, less)
        return results if len(results) > 1 else results[0]

    return run


@binder("hlo.topk")
def _topk(op: Operation) -> Bound:
    return partial(top_k, k=integer(op, "k"), largest=flag(op, "largest", True))


@binder("hlo.map")
def _map(op: Operation) -> Bound:
    function = single_array_function(op, op.regions[0])
    shape, _ = result_of(op)

    def run(*operands: Array) -> Value:
        return np.broadcast_to(function(*operands), shape)

    return run
