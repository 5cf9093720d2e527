"""Infer the shapes of reductions, sort, map, top-k and batch normalisation."""

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import tensor_type, tuple_type
from neuronir.dialects.hlo.shape_rules import (
    PRED,
    Check,
    Infer,
    Properties,
    Types,
    Violation,
    dims_of,
    element_of,
    get_ints,
    index,
    need_distinct,
    need_region,
    packed,
    scalar_of,
    window_sizes,
)
from neuronir.dialects.support.dtypes import is_float


def _inputs(types: Types) -> tuple[Types, Types, tuple[int, ...]]:
    """Return the inputs, the initial values and the common shape of the inputs of a reduction."""
    count = len(types) // 2
    if not count:
        raise Violation("C1", "there must be at least one input and one initial value")
    inputs, starts = types[:count], types[count:]
    dims = dims_of(inputs[0], "input")
    for type in inputs:
        if dims_of(type, "input") != dims:
            raise Violation("C1", f"inputs must have one shape, are {inputs[0]} and {type}")
    for type in starts:
        if dims_of(type, "initial value"):
            raise Violation("C2", f"an initial value must be a scalar, is {type}")
    return inputs, starts, dims


def _reduce(types: Types, properties: Properties) -> Attribute:
    _, starts, dims = _inputs(types)
    reduced = get_ints(properties, "dimensions")
    need_distinct("C3", "dimensions", reduced, len(dims))
    shape = [s for d, s in enumerate(dims) if d not in reduced]
    return packed([tensor_type(shape, element_of(start)) for start in starts])


def _reduce_window(types: Types, properties: Properties) -> Attribute:
    _, starts, dims = _inputs(types)
    shape = window_sizes(
        "C3",
        dims,
        get_ints(properties, "window_dimensions"),
        get_ints(properties, "window_strides"),
        get_ints(properties, "padding"),
        get_ints(properties, "base_dilations"),
        get_ints(properties, "window_dilations"),
    )
    return packed([tensor_type(shape, element_of(start)) for start in starts])


def _reducer(op: Operation) -> None:
    count = len(op.operands) // 2
    starts = [value.type for value in op.operands[count:]]
    elements = [scalar_of(value.type) for value in op.operands[:count]]
    need_region(
        "C4", "the reducer", op.regions[0].blocks.first, [*starts, *elements], packed(starts)
    )


def _select_and_scatter(types: Types, properties: Properties) -> Attribute:
    operand, source, start = types
    dims = dims_of(operand, "operand")
    ones = [1] * len(dims)
    shape = window_sizes(
        "C1",
        dims,
        get_ints(properties, "window_dimensions"),
        get_ints(properties, "window_strides"),
        get_ints(properties, "padding"),
        ones,
        ones,
    )
    if list(dims_of(source, "source")) != shape:
        raise Violation("C2", f"source must have the shape {shape} of the windows, is {source}")
    if start != scalar_of(source) or element_of(source) != element_of(operand):
        raise Violation("C3", f"init_value must be {scalar_of(operand)}, is {start}")
    return operand


def _select_and_scatter_regions(op: Operation) -> None:
    scalar = scalar_of(op.operands[0].type)
    select, scatter = op.regions
    need_region("C4", "select", select.blocks.first, [scalar, scalar], PRED)
    need_region("C5", "scatter", scatter.blocks.first, [scalar, scalar], scalar)


def _sort(types: Types, properties: Properties) -> Attribute:
    if not types:
        raise Violation("C1", "there must be at least one input")
    dims = dims_of(types[0], "input")
    for type in types:
        if dims_of(type, "input") != dims:
            raise Violation("C1", f"inputs must have one shape, are {types[0]} and {type}")
    dimension = index(properties, "dimension")
    if not 0 <= dimension < len(dims):
        raise Violation("C2", f"dimension {dimension} must be below the rank {len(dims)}")
    return packed(types)


def _comparator(op: Operation) -> None:
    pairs = [scalar_of(value.type) for value in op.operands for _ in range(2)]
    need_region("C3", "the comparator", op.regions[0].blocks.first, pairs, PRED)


def _map(op: Operation) -> None:
    result = op.results[0].type
    dims = dims_of(result, "result")
    for value in op.operands:
        if dims_of(value.type, "input") != dims:
            raise Violation("C1", f"input {value.type} must have the shape of the result {result}")
    scalars = [scalar_of(value.type) for value in op.operands]
    need_region("C2", "the region", op.regions[0].blocks.first, scalars, scalar_of(result))


def _topk(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    k = index(properties, "k")
    if not dims or not 0 <= k <= dims[-1]:
        raise Violation("C1", f"k {k} must be within the last dimension of {types[0]}")
    shape = (*dims[:-1], k)
    return tuple_type([tensor_type(shape, element_of(types[0])), tensor_type(shape, i32)])


def _batch_norm(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    feature = index(properties, "feature_index")
    if not 0 <= feature < len(dims):
        raise Violation("C1", f"feature_index {feature} must be below the rank {len(dims)}")
    if not is_float(element_of(types[0])):
        raise Violation("C2", f"operand must be float, is {types[0]}")
    for type in types[1:]:
        found = dims_of(type, "operand")
        if found != (dims[feature],) and found != dims:
            raise Violation("C3", f"{type} must have {dims[feature]} elements, one a feature")
    return types[0]


def _batch_norm_tuple(types: Types, properties: Properties) -> Attribute:
    normalised = _batch_norm(types, properties)
    return tuple_type([normalised, types[1], types[1]])


INFER: dict[str, Infer] = {
    "hlo.reduce": _reduce,
    "hlo.reduce_window": _reduce_window,
    "hlo.select_and_scatter": _select_and_scatter,
    "hlo.sort": _sort,
    "hlo.topk": _topk,
    "hlo.batch_norm_inference": _batch_norm,
    "hlo.batch_norm_training": _batch_norm_tuple,
    "hlo.batch_norm_grad": _batch_norm_tuple,
}

CHECK: dict[str, Check] = {
    "hlo.reduce": _reducer,
    "hlo.reduce_window": _reducer,
    "hlo.select_and_scatter": _select_and_scatter_regions,
    "hlo.sort": _comparator,
    "hlo.map": _map,
}
