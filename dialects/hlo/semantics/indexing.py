"""Compute gather and scatter, with window, collapsed and batching dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import NARROW_FLOATS, Array
from neuronir.dialects.hlo.semantics.reducer import Reducer


@dataclass(frozen=True)
class GatherNumbers:
    """The dimension numbers of an HLO gather."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    index_vector_dim: int


@dataclass(frozen=True)
class ScatterNumbers:
    """The dimension numbers of an HLO scatter."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    index_vector_dim: int


def _index_columns(indices: Array, index_vector_dim: int, count: int) -> list[Array]:
    """Split the index vectors into components shaped like `indices` without the vector
    dimension.
    """
    if index_vector_dim == indices.ndim:
        return [indices]
    return [np.take(indices, i, axis=index_vector_dim) for i in range(count)]


def _batch_position(indices: Array, dimension: int, index_vector_dim: int) -> Array:
    """Return the coordinate along a batching dimension of `indices`, over its batch shape."""
    batch_shape = [n for i, n in enumerate(indices.shape) if i != index_vector_dim]
    axis = dimension if dimension < index_vector_dim else dimension - 1
    line = np.arange(batch_shape[axis], dtype=np.int64)
    spread = [1] * len(batch_shape)
    spread[axis] = batch_shape[axis]
    return np.broadcast_to(line.reshape(spread), batch_shape)


def gather(
    operand: Array, indices: Array, numbers: GatherNumbers, slice_sizes: Sequence[int]
) -> Array:
    """Return the slice of `operand` at each index vector; starts are clamped so that slices fit."""
    start: dict[int, Array] = {}
    columns = _index_columns(indices, numbers.index_vector_dim, len(numbers.start_index_map))
    for dimension, column in zip(numbers.start_index_map, columns, strict=True):
        limit = operand.shape[dimension] - slice_sizes[dimension]
        # Compare before the conversion: an unsigned index may exceed the signed range.
        clamped = (
            np.minimum(np.maximum(column, 0), np.array(limit).astype(column.dtype))
            if (limit <= np.iinfo(column.dtype).max)
            else np.maximum(column, 0)
        )
        start[dimension] = clamped.astype(np.int64)
    for dimension, source in zip(
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
    ):
        start[dimension] = _batch_position(indices, source, numbers.index_vector_dim)

    batch_shape = tuple(n for i, n in enumerate(indices.shape) if i != numbers.index_vector_dim)
    batch_rank = len(batch_shape)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [d for d in range(operand.ndim) if d not in dropped]
    indexed = [d for d in range(operand.ndim) if d in start]
    whole = [d for d in window if d not in start]
    moving = [d for d in window if d in start]
    # Put indexed dimensions first and address them together; whole ones keep their elements
    # contiguous.
    arranged = operand.transpose([*indexed, *whole])
    arranged = arranged[
        (slice(None),) * len(indexed) + tuple(slice(0, slice_sizes[d]) for d in whole)
    ]
    address = []
    for d in indexed:
        index = start[d].reshape(batch_shape + (1,) * len(moving))
        if d in moving:
            spread = [1] * (batch_rank + len(moving))
            spread[batch_rank + moving.index(d)] = slice_sizes[d]
            index = index + np.arange(slice_sizes[d], dtype=np.int64).reshape(spread)
        address.append(index)
    moving_shape = tuple(slice_sizes[d] for d in moving)
    whole_shape = tuple(slice_sizes[d] for d in whole)
    if 0 in arranged.shape[: len(indexed)]:  # collapsed windows without elements: XLA returns zeros
        taken = np.zeros(batch_shape + moving_shape + whole_shape, operand.dtype)
    elif address:
        taken = arranged[tuple(address)]
    else:
        taken = np.broadcast_to(arranged, batch_shape + arranged.shape)
    taken = np.broadcast_to(taken, batch_shape + moving_shape + whole_shape)
    # Axes are now batch..., moving..., whole...; move the window dimensions to offset_dims in
    # order.
    stored = [*moving, *whole]
    rank = batch_rank + len(window)
    order = [-1] * rank
    for position, d in zip(numbers.offset_dims, window, strict=True):
        order[position] = batch_rank + stored.index(d)
    free = iter(range(batch_rank))
    return taken.transpose([axis if axis >= 0 else next(free) for axis in order])


def scatter(
    inputs: Sequence[Array],
    indices: Array,
    updates: Sequence[Array],
    numbers: ScatterNumbers,
    reducer: Reducer,
) -> tuple[Array, ...]:
    """Return copies of `inputs` with each update combined in; windows out of bounds are dropped.

    Updates of the same element are combined in the order of the indices, as by XLA's CPU backend:
    of windows that overlap, the last one counts.
    """
    shape = inputs[0].shape
    update_shape = updates[0].shape
    window_dims = set(numbers.update_window_dims)
    batch_axes = [i for i in range(len(update_shape)) if i not in window_dims]
    hidden = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    window_axis = dict(
        zip(
            [d for d in range(len(shape)) if d not in hidden],
            numbers.update_window_dims,
            strict=True,
        )
    )

    def over_batch(column: Array) -> Array:
        spread = [1] * len(update_shape)
        for axis, size in zip(batch_axes, column.shape, strict=True):
            spread[axis] = size
        return column.reshape(spread)

    position: list[Array] = [np.zeros((1,) * len(update_shape), np.int64) for _ in shape]
    inside: Array = np.ones((1,) * len(update_shape), np.bool_)
    columns = _index_columns(
        indices, numbers.index_vector_dim, len(numbers.scatter_dims_to_operand_dims)
    )
    for d, column in zip(numbers.scatter_dims_to_operand_dims, columns, strict=True):
        extent = update_shape[window_axis[d]] if d in window_axis else 1
        start = over_batch(column)
        limit = shape[d] - extent
        inside = inside & (start >= 0) & (start <= limit)
        position[d] = position[d] + start.astype(np.int64)
    for d, source in zip(
        numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True
    ):
        column = _batch_position(indices, source, numbers.index_vector_dim)
        position[d] = position[d] + over_batch(column)
    flat: Array = np.zeros((1,) * len(update_shape), np.int64)
    for d, size in enumerate(shape):
        if d in window_axis:
            axis = window_axis[d]
            spread = [1] * len(update_shape)
            spread[axis] = update_shape[axis]
            position[d] = position[d] + np.arange(update_shape[axis], dtype=np.int64).reshape(
                spread
            )
        flat = flat * size + position[d]
    order = [*batch_axes, *sorted(window_dims)]

    def by_window(array: Array) -> Array:
        return np.broadcast_to(array, update_shape).transpose(order).reshape(-1)

    kept = by_window(inside)
    results = [np.array(x).reshape(-1) for x in inputs]
    given = [by_window(np.asarray(u))[kept] for u in updates]
    combine_at(results, by_window(flat)[kept], given, reducer)
    return tuple(result.reshape(shape) for result in results)


def combine_at(
    results: Sequence[Array], flat: Array, updates: Sequence[Array], reducer: Reducer
) -> None:
    """Compute results[flat[i]] = reducer(results[flat[i]], updates[i]) for each i in order, in
    place.
    """
    if flat.size == 0:
        return
    order = np.argsort(flat, kind="stable")
    sorted_flat = flat[order]
    is_first = np.concatenate([[True], sorted_flat[1:] != sorted_flat[:-1]])
    if reducer.kind == "second":
        # The last update of each element wins.
        last = order[np.concatenate([is_first[1:], [True]])]
        for result, update in zip(results, updates, strict=True):
            result[flat[last]] = update[last]
        return
    ufunc = reducer.ufunc(results[0].dtype)
    if ufunc is not None and len(results) == 1 and results[0].dtype not in NARROW_FLOATS:
        ufunc.at(results[0], flat, updates[0])
        return
    # Iteration r combines the r-th update of every element at once.
    first_at = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    rank = np.arange(flat.size) - first_at[group]
    by_rank = np.argsort(rank, kind="stable")
    edges = np.searchsorted(rank[by_rank], np.arange(int(rank.max()) + 2))
    for begin, end in zip(edges[:-1], edges[1:], strict=True):
        chosen = order[by_rank[begin:end]]
        where = flat[chosen]
        combined = reducer.apply([r[where] for r in results], [u[chosen] for u in updates])
        for result, value in zip(results, combined, strict=True):
            result[where] = value
