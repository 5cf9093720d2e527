"""Reduce one or several operands over dimensions."""

from collections.abc import Sequence
from math import prod

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, accumulator, cast
from neuronir.dialects.hlo.semantics.reducer import Reducer


def reduce(
    inputs: Sequence[Array],
    init_values: Sequence[Array],
    dimensions: Sequence[int],
    reducer: Reducer,
) -> tuple[Array, ...]:
    """Reduce `inputs` over `dimensions`, starting from `init_values`.

    Single-op combiners on bf16 or f16 accumulate in f32, as in XLA's CPU backend. Other combiners
    are applied pairwise to neighbours, in order, so they need only be associative.
    """
    if len(inputs) == 1 and (ufunc := reducer.ufunc(inputs[0].dtype)) is not None:
        return (_reduce_known(inputs[0], init_values[0], dimensions, ufunc),)
    kept = [i for i in range(inputs[0].ndim) if i not in set(dimensions)]
    shape = tuple(inputs[0].shape[i] for i in kept)
    count = prod(inputs[0].shape[i] for i in dimensions)
    rows = [x.transpose([*dimensions, *kept]).reshape(count, *shape) for x in inputs]
    start = [np.broadcast_to(value, shape) for value in init_values]
    if count == 0:
        return tuple(start)
    return reducer.apply(start, combine_rows(rows, reducer))


def _reduce_known(x: Array, init_value: Array, dimensions: Sequence[int], ufunc: np.ufunc) -> Array:
    wide = accumulator(x.dtype)
    values = cast(x, wide)
    axes = tuple(dimensions)
    # maximum and minimum of no elements have no value, so the result is the initial value.
    if any(x.shape[i] == 0 for i in axes):
        kept = [n for i, n in enumerate(x.shape) if i not in set(axes)]
        return np.broadcast_to(init_value, kept)
    # Sum f32 in f64. numpy adds rows one by one and XLA adds vectors, so an f32 sum of many rows
    # would be less accurate than either.
    through = np.dtype(np.float64) if ufunc is np.add and wide == np.float32 else wide
    total = (
        cast(np.asarray(ufunc.reduce(values, axis=axes, dtype=through)), wide) if axes else values
    )
    return cast(np.asarray(ufunc(cast(np.asarray(init_value), wide), total)), x.dtype)


def combine_rows(rows: Sequence[Array], reducer: Reducer) -> list[Array]:
    """Combine all rows (first dimension, at least one) in order, as a balanced tree."""
    current = list(rows)
    while (count := current[0].shape[0]) > 1:
        even = count - count % 2
        combined = reducer.apply([x[0:even:2] for x in current], [x[1:even:2] for x in current])
        if count % 2:
            current = [np.concatenate([c, x[-1:]]) for c, x in zip(combined, current, strict=True)]
        else:
            current = list(combined)
    return [x[0] for x in current]
