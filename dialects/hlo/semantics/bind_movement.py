"""Bind ops that move elements: shapes, slices, gather and scatter."""

from functools import partial

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.semantics import data_movement as move
from neuronir.dialects.hlo.semantics.convert import bitcast_convert
from neuronir.dialects.hlo.semantics.indexing import (
    GatherNumbers,
    ScatterNumbers,
    gather,
    scatter,
)
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.regions import reducer_of
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    index_list,
    integer,
    moves_scalar,
    result_of,
    shape_and_dtype,
)


def _unmoved(x: Array) -> Array:
    return x


@binder("hlo.broadcast")
def _broadcast(op: Operation) -> Bound:
    if moves_scalar(op):
        return _unmoved
    shape, _ = result_of(op)
    return partial(move.broadcast, dimensions=index_list(op, "dimensions"), shape=shape)


@binder("hlo.reshape")
def _reshape(op: Operation) -> Bound:
    if moves_scalar(op):
        return _unmoved
    shape, _ = result_of(op)
    return lambda x: x.reshape(shape)


@binder("hlo.transpose")
def _transpose(op: Operation) -> Bound:
    if moves_scalar(op):
        return _unmoved
    permutation = index_list(op, "permutation")
    return lambda x: x.transpose(permutation)


@binder("hlo.slice")
def _slice(op: Operation) -> Bound:
    return partial(
        move.strided_slice,
        start=index_list(op, "start_indices"),
        limit=index_list(op, "limit_indices"),
        strides=index_list(op, "strides"),
    )


@binder("hlo.pad")
def _pad(op: Operation) -> Bound:
    return partial(
        move.pad,
        low=index_list(op, "edge_padding_low"),
        high=index_list(op, "edge_padding_high"),
        interior=index_list(op, "interior_padding"),
    )


@binder("hlo.concatenate")
def _concatenate(op: Operation) -> Bound:
    axis = integer(op, "dimension")
    return lambda *arrays: np.concatenate(arrays, axis=axis)


@binder("hlo.reverse")
def _reverse(op: Operation) -> Bound:
    return partial(move.reverse, dimensions=index_list(op, "dimensions"))


@binder("hlo.dynamic_slice")
def _dynamic_slice(op: Operation) -> Bound:
    sizes = index_list(op, "slice_sizes")
    return lambda x, *start: move.dynamic_slice(x, start, sizes)


@binder("hlo.dynamic_update_slice")
def _dynamic_update_slice(op: Operation) -> Bound:
    return lambda x, update, *start: move.dynamic_update_slice(x, update, start)


@binder("hlo.get_dimension_size")
def _get_dimension_size(op: Operation) -> Bound:
    dimension = integer(op, "dimension")
    return lambda x: np.array(x.shape[dimension], np.int32)


@binder("hlo.gather")
def _gather(op: Operation) -> Bound:
    numbers = GatherNumbers(
        offset_dims=index_list(op, "offset_dims"),
        collapsed_slice_dims=index_list(op, "collapsed_slice_dims"),
        start_index_map=index_list(op, "start_index_map"),
        operand_batching_dims=index_list(op, "operand_batching_dims"),
        start_indices_batching_dims=index_list(op, "start_indices_batching_dims"),
        index_vector_dim=integer(op, "index_vector_dim"),
    )
    return partial(gather, numbers=numbers, slice_sizes=index_list(op, "slice_sizes"))


@binder("hlo.scatter")
def _scatter(op: Operation) -> Bound:
    numbers = ScatterNumbers(
        update_window_dims=index_list(op, "update_window_dims"),
        inserted_window_dims=index_list(op, "inserted_window_dims"),
        scatter_dims_to_operand_dims=index_list(op, "scatter_dims_to_operand_dims"),
        input_batching_dims=index_list(op, "input_batching_dims"),
        scatter_indices_batching_dims=index_list(op, "scatter_indices_batching_dims"),
        index_vector_dim=integer(op, "index_vector_dim"),
    )
    reducer = reducer_of(op.regions[0])
    count = len(op.operands) // 2

    def run(*operands: Array) -> Value:
        results = scatter(
            operands[:count], operands[count], operands[count + 1 :], numbers, reducer
        )
        return results if count > 1 else results[0]

    return run


def _layout_of(value: SSAValue) -> tuple[int, ...]:
    """Return minor_to_major of a value as declared by its op or argument; else descending."""
    shape, _ = shape_and_dtype(value.type)
    default = tuple(range(len(shape) - 1, -1, -1))
    owner = value.owner
    if isinstance(owner, Operation):
        stated = owner.attributes.get("hlo.layout")
    else:
        assert isinstance(value, BlockArgument)
        parent = owner.parent_op()
        if isinstance(parent, FuncOp):
            arguments = parent.arg_attrs
            stated = arguments.data[value.index].data.get("hlo.layout") if arguments else None
        elif parent is not None and parent.name == "hlo.fusion":
            return _layout_of(parent.operands[value.index])
        else:
            stated = None
    return ints(stated) if isinstance(stated, DenseArrayBase) else default


@binder("hlo.bitcast")
def _bitcast(op: Operation) -> Bound:
    shape, dtype = result_of(op)
    if moves_scalar(op):
        return partial(bitcast_convert, dtype=dtype)
    return partial(
        move.relayout_bitcast,
        operand_layout=_layout_of(op.operands[0]),
        result_layout=_layout_of(op.results[0]),
        shape=shape,
        dtype=dtype,
    )
