"""Infer the shapes of ops that move elements."""

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.shape_rules import (
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
    need_length,
    need_region,
    need_returns,
    packed,
    scalar_of,
    tensor,
)
from neuronir.dialects.support.dtypes import byte_size, is_integer


def _broadcast(op: Operation) -> None:
    operand, result = tensor(op.operands[0].type, "operand"), tensor(op.results[0].type, "result")
    if operand.element_type != result.element_type:
        raise Violation("C1", f"element types of {operand} and {result} must agree")
    dims = get_ints(op.properties, "dimensions")
    before, after = operand.get_shape(), result.get_shape()
    need_length("C2", "dimensions", dims, len(before))
    need_distinct("C3", "dimensions", dims, len(after))
    for i, d in enumerate(dims):
        if before[i] != after[d]:
            raise Violation(
                "C4",
                f"operand dimension {i} of size {before[i]} cannot become result dimension {d} "
                f"of size {after[d]}",
            )


def _reshape(op: Operation) -> None:
    operand, result = tensor(op.operands[0].type, "operand"), tensor(op.results[0].type, "result")
    if operand.element_type != result.element_type:
        raise Violation("C1", f"element types of {operand} and {result} must agree")
    before, after = prod(operand.get_shape()), prod(result.get_shape())
    if before != after:
        raise Violation("C2", f"{operand} has {before} elements, {result} has {after}")


def _bitcast(op: Operation) -> None:
    operand, result = tensor(op.operands[0].type, "operand"), tensor(op.results[0].type, "result")
    before = prod(operand.get_shape()) * byte_size(operand.element_type)
    after = prod(result.get_shape()) * byte_size(result.element_type)
    if before != after:
        raise Violation("C1", f"{operand} has {before} bytes, {result} has {after}")


def _transpose(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    permutation = get_ints(properties, "permutation")
    if sorted(permutation) != list(range(len(dims))):
        raise Violation(
            "C1", f"permutation {list(permutation)} must permute the dimensions of {types[0]}"
        )
    return tensor_type([dims[p] for p in permutation], element_of(types[0]))


def _slice(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    start = get_ints(properties, "start_indices")
    limit = get_ints(properties, "limit_indices")
    strides = get_ints(properties, "strides")
    for what, values in (
        ("start_indices", start),
        ("limit_indices", limit),
        ("strides", strides),
    ):
        need_length("C1", what, values, len(dims))
    for d, size in enumerate(dims):
        if not 0 <= start[d] <= limit[d] <= size:
            raise Violation(
                "C2",
                f"range [{start[d]}:{limit[d]}] must lie within dimension {d} of size {size}",
            )
        if strides[d] < 1:
            raise Violation("C3", f"stride {strides[d]} of dimension {d} must be positive")
    shape = [-(-(e - s) // k) for s, e, k in zip(start, limit, strides, strict=True)]
    return tensor_type(shape, element_of(types[0]))


def _pad(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    if types[1] != scalar_of(types[0]):
        raise Violation("C1", f"padding_value must be {scalar_of(types[0])}, is {types[1]}")
    low = get_ints(properties, "edge_padding_low")
    high = get_ints(properties, "edge_padding_high")
    interior = get_ints(properties, "interior_padding")
    for what, values in (
        ("edge_padding_low", low),
        ("edge_padding_high", high),
        ("interior_padding", interior),
    ):
        need_length("C2", what, values, len(dims))
    if any(v < 0 for v in interior):
        raise Violation("C3", f"interior_padding {list(interior)} must not be negative")
    shape = []
    for d, size in enumerate(dims):
        padded = low[d] + high[d] + size + max(size - 1, 0) * interior[d]
        if padded < 0:
            raise Violation("C4", f"padding leaves dimension {d} with {padded} elements")
        shape.append(padded)
    return tensor_type(shape, element_of(types[0]))


def _concatenate(types: Types, properties: Properties) -> Attribute:
    if not types:
        raise Violation("C1", "there must be at least one input")
    dims = list(dims_of(types[0], "input"))
    dimension = index(properties, "dimension")
    if not 0 <= dimension < len(dims):
        raise Violation("C2", f"dimension {dimension} must be below the rank {len(dims)}")
    total = 0
    for i, type in enumerate(types):
        other = list(dims_of(type, "input"))
        if len(other) == len(dims):
            total += other[dimension]
            other[dimension] = dims[dimension]
        if other != dims or element_of(type) != element_of(types[0]):
            raise Violation(
                "C3", f"input {i} of type {type} must agree with {types[0]} but in {dimension}"
            )
    dims[dimension] = total
    return tensor_type(dims, element_of(types[0]))


def _reverse(types: Types, properties: Properties) -> Attribute:
    rank = len(dims_of(types[0], "operand"))
    need_distinct("C1", "dimensions", get_ints(properties, "dimensions"), rank)
    return types[0]


def _need_starts(rule: str, types: Types, rank: int) -> None:
    if len(types) != rank:
        raise Violation(rule, f"there must be {rank} start indices, one a dimension")
    for type in types:
        if dims_of(type, "start index") or not is_integer(element_of(type)):
            raise Violation(rule, f"a start index must be an integer scalar, is {type}")


def _dynamic_slice(types: Types, properties: Properties) -> Attribute:
    dims = dims_of(types[0], "operand")
    _need_starts("C1", types[1:], len(dims))
    sizes = get_ints(properties, "slice_sizes")
    need_length("C2", "slice_sizes", sizes, len(dims))
    for d, (size, extent) in enumerate(zip(sizes, dims, strict=True)):
        if not 0 <= size <= extent:
            raise Violation("C3", f"slice size {size} of dimension {d} must be within {extent}")
    return tensor_type(sizes, element_of(types[0]))


def _dynamic_update_slice(types: Types, properties: Properties) -> Attribute:
    dims, update = dims_of(types[0], "operand"), dims_of(types[1], "update")
    _need_starts("C1", types[2:], len(dims))
    need_length("C2", "update dimensions", update, len(dims))
    if element_of(types[0]) != element_of(types[1]):
        raise Violation("C3", f"element types of {types[0]} and {types[1]} must agree")
    for d, (size, extent) in enumerate(zip(update, dims, strict=True)):
        if size > extent:
            raise Violation("C4", f"update size {size} of dimension {d} must be within {extent}")
    return types[0]


def _batch_dims(indices: tuple[int, ...], vector_dim: int) -> list[int]:
    return [s for d, s in enumerate(indices) if d != vector_dim]


def _gather(types: Types, properties: Properties) -> Attribute:
    operand, indices = dims_of(types[0], "operand"), dims_of(types[1], "start_indices")
    if not is_integer(element_of(types[1])):
        raise Violation("C1", f"start_indices must be integers, are {types[1]}")
    vector_dim = index(properties, "index_vector_dim")
    if not 0 <= vector_dim <= len(indices):
        raise Violation("C2", f"index_vector_dim {vector_dim} must be at most {len(indices)}")
    sizes = get_ints(properties, "slice_sizes")
    need_length("C3", "slice_sizes", sizes, len(operand))
    for d, (size, extent) in enumerate(zip(sizes, operand, strict=True)):
        if not 0 <= size <= extent:
            raise Violation("C4", f"slice size {size} of dimension {d} must be within {extent}")
    collapsed = get_ints(properties, "collapsed_slice_dims")
    batching = get_ints(properties, "operand_batching_dims")
    need_distinct(
        "C5", "collapsed_slice_dims and operand_batching_dims", collapsed + batching, len(operand)
    )
    for d in collapsed + batching:
        if sizes[d] > 1:
            raise Violation("C6", f"slice size of collapsed dimension {d} must be 1, is {sizes[d]}")
    start_map = get_ints(properties, "start_index_map")
    need_distinct("C7", "start_index_map", start_map, len(operand))
    length = indices[vector_dim] if vector_dim < len(indices) else 1
    if len(start_map) != length:
        raise Violation(
            "C8", f"start_index_map {list(start_map)} must have {length} entries, one an index"
        )
    indices_batching = get_ints(properties, "start_indices_batching_dims")
    need_length("C9", "start_indices_batching_dims", indices_batching, len(batching))
    offsets = get_ints(properties, "offset_dims")
    window = [s for d, s in enumerate(sizes) if d not in collapsed and d not in batching]
    need_length("C10", "offset_dims", offsets, len(window))
    outer = _batch_dims(indices, vector_dim)
    rank = len(outer) + len(window)
    need_distinct("C11", "offset_dims", offsets, rank)
    outer_sizes, window_sizes = iter(outer), iter(window)
    shape = [next(window_sizes) if d in offsets else next(outer_sizes) for d in range(rank)]
    return tensor_type(shape, element_of(types[0]))


def _scatter(types: Types, properties: Properties) -> Attribute:
    count = (len(types) - 1) // 2
    inputs, indices, updates = types[:count], types[count], types[count + 1 :]
    operand, index_dims = dims_of(inputs[0], "input"), dims_of(indices, "indices")
    if not is_integer(element_of(indices)):
        raise Violation("C1", f"indices must be integers, are {indices}")
    for other in inputs:
        if dims_of(other, "input") != operand:
            raise Violation("C2", f"inputs must have one shape, are {inputs[0]} and {other}")
    vector_dim = index(properties, "index_vector_dim")
    if not 0 <= vector_dim <= len(index_dims):
        raise Violation("C3", f"index_vector_dim {vector_dim} must be at most {len(index_dims)}")
    inserted = get_ints(properties, "inserted_window_dims")
    batching = get_ints(properties, "input_batching_dims")
    need_distinct(
        "C4", "inserted_window_dims and input_batching_dims", inserted + batching, len(operand)
    )
    mapped = get_ints(properties, "scatter_dims_to_operand_dims")
    need_distinct("C5", "scatter_dims_to_operand_dims", mapped, len(operand))
    length = index_dims[vector_dim] if vector_dim < len(index_dims) else 1
    need_length("C6", "scatter_dims_to_operand_dims", mapped, length)
    outer = _batch_dims(index_dims, vector_dim)
    window_dims = get_ints(properties, "update_window_dims")
    window = [s for d, s in enumerate(operand) if d not in inserted and d not in batching]
    need_length("C7", "update_window_dims", window_dims, len(window))
    rank = len(outer) + len(window)
    need_distinct("C8", "update_window_dims", window_dims, rank)
    for i, update in enumerate(updates):
        dims = dims_of(update, "update")
        need_length("C9", "update dimensions", dims, rank)
        if [s for d, s in enumerate(dims) if d not in window_dims] != outer:
            raise Violation("C10", f"update {update} must have the dimensions {outer} of indices")
        for position, bound in zip(sorted(window_dims), window, strict=True):
            if dims[position] > bound:
                raise Violation(
                    "C11",
                    f"update dimension {position} of size {dims[position]} must be within {bound}",
                )
        if element_of(update) != element_of(inputs[i]):
            raise Violation("C12", f"element types of {inputs[i]} and {update} must agree")
    return packed(inputs)


def _scatter_region(op: Operation) -> None:
    inputs = op.operands[: (len(op.operands) - 1) // 2]
    scalars = [scalar_of(value.type) for value in inputs]
    block = op.regions[0].blocks.first
    need_returns("C13", "the region", block, [*scalars, *scalars])
    need_region("C13", "the region", block, [*scalars, *scalars], packed(scalars))


def _get_dimension_size(types: Types, properties: Properties) -> Attribute:
    rank, dimension = len(dims_of(types[0], "operand")), index(properties, "dimension")
    if not 0 <= dimension < rank:
        raise Violation("C1", f"dimension {dimension} must be below the rank {rank}")
    return tensor_type((), i32)


INFER: dict[str, Infer] = {
    "hlo.transpose": _transpose,
    "hlo.slice": _slice,
    "hlo.pad": _pad,
    "hlo.concatenate": _concatenate,
    "hlo.reverse": _reverse,
    "hlo.dynamic_slice": _dynamic_slice,
    "hlo.dynamic_update_slice": _dynamic_update_slice,
    "hlo.gather": _gather,
    "hlo.scatter": _scatter,
    "hlo.get_dimension_size": _get_dimension_size,
}

CHECK: dict[str, Check] = {
    "hlo.broadcast": _broadcast,
    "hlo.reshape": _reshape,
    "hlo.bitcast": _bitcast,
    "hlo.scatter": _scatter_region,
}
