"""Compute reduce-window and select-and-scatter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from neuronir.dialects.hlo.semantics.data_movement import pad
from neuronir.dialects.hlo.semantics.indexing import combine_at
from neuronir.dialects.hlo.semantics.numeric import Array, accumulator, cast
from neuronir.dialects.hlo.semantics.reducer import Reducer, identity


@dataclass(frozen=True)
class PoolWindow:
    """A window over all dimensions of an operand."""

    dimensions: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    window_dilations: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]

    def padded(self, x: Array, value: Array) -> Array:
        """Put `value` in the holes of the base dilation and in the padding of `x`."""
        return pad(
            x,
            value,
            [low for low, _ in self.padding],
            [high for _, high in self.padding],
            [dilation - 1 for dilation in self.base_dilations],
        )


def reduce_window(
    inputs: Sequence[Array],
    init_values: Sequence[Array],
    window: PoolWindow,
    reducer: Reducer,
) -> tuple[Array, ...]:
    """Reduce each window, starting from `init_values`; padding is ignored.

    Windows are reduced one dimension at a time by doubling: two results over k neighbours give one
    over 2k. This keeps the order of the elements, so the combiner need only be associative. If the
    window has several dimensions it must also be commutative, as HLO requires.
    """
    if len(inputs) == 1 and (ufunc := reducer.ufunc(inputs[0].dtype)) is not None:
        neutral = identity(reducer.kind, inputs[0].dtype)
        if neutral is not None:
            return (_known_windows(inputs[0], init_values[0], neutral, window, ufunc),)
    values = [window.padded(x, np.zeros((), x.dtype)) for x in inputs]
    valid = window.padded(np.ones(inputs[0].shape, np.bool_), np.zeros((), np.bool_))

    def combine(left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
        *left_values, left_valid = left
        *right_values, right_valid = right
        both = left_valid & right_valid
        combined = reducer.apply(left_values, right_values)
        chosen = [
            np.where(both, c, np.where(left_valid, a, b))
            for c, a, b in zip(combined, left_values, right_values, strict=True)
        ]
        return [*chosen, left_valid | right_valid]

    *results, any_valid = _all_windows([*values, valid], window, combine)
    starts = [np.broadcast_to(value, any_valid.shape) for value in init_values]
    final = reducer.apply(starts, results)
    return tuple(np.where(any_valid, f, s) for f, s in zip(final, starts, strict=True))


def _known_windows(
    x: Array, init_value: Array, neutral: Array, window: PoolWindow, ufunc: np.ufunc
) -> Array:
    wide = accumulator(x.dtype)
    values = window.padded(cast(x, wide), cast(neutral, wide))
    (result,) = _all_windows([values], window, lambda a, b: [np.asarray(ufunc(a[0], b[0]))])
    return cast(np.asarray(ufunc(cast(np.asarray(init_value), wide), result)), x.dtype)


_Combine = Callable[[Sequence[Array], Sequence[Array]], list[Array]]


def _all_windows(values: list[Array], window: PoolWindow, combine: _Combine) -> list[Array]:
    """Reduce padded `values` over every window position."""
    for axis, size in enumerate(window.dimensions):
        dilation, stride = window.window_dilations[axis], window.strides[axis]
        length = values[0].shape[axis]
        count = max(0, (length - (size - 1) * dilation - 1) // stride + 1) if size else 0
        if count == 0 or size == 1:
            values = [_cut(x, axis, 0, count, stride) for x in values]
        elif size <= 4:
            # With few taps, compute only the required positions.
            total = [_cut(x, axis, 0, count, stride) for x in values]
            for tap in range(1, size):
                total = combine(
                    total, [_cut(x, axis, tap * dilation, count, stride) for x in values]
                )
            values = total
        else:
            dense = _double(values, axis, size, dilation, combine)
            values = [_cut(x, axis, 0, count, stride) for x in dense]
    return values


def _cut(x: Array, axis: int, start: int, count: int, stride: int) -> Array:
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, start + max(0, count - 1) * stride + 1, stride)
    if count == 0:
        index[axis] = slice(0, 0)
    return x[tuple(index)]


def _double(
    values: list[Array], axis: int, size: int, dilation: int, combine: _Combine
) -> list[Array]:
    """Reduce every window of `size` taps along `axis`, with stride 1, in log2(size) steps."""
    done: list[Array] | None = None
    covered = 0
    power, span = values, 1
    while True:
        if size & span:
            if done is None:
                done, covered = power, span
            else:
                count = power[0].shape[axis] - covered * dilation
                done = combine(
                    [_cut(x, axis, 0, count, 1) for x in done],
                    [_cut(x, axis, covered * dilation, count, 1) for x in power],
                )
                covered += span
        if covered == size:
            break
        count = power[0].shape[axis] - span * dilation
        power = combine(
            [_cut(x, axis, 0, count, 1) for x in power],
            [_cut(x, axis, span * dilation, count, 1) for x in power],
        )
        span *= 2
    assert done is not None
    return done


def select_and_scatter(
    operand: Array,
    source: Array,
    init_value: Array,
    window: PoolWindow,
    select: Callable[[Array, Array], Array],
    reducer: Reducer,
) -> Array:
    """Combine each source value into the element of its window that `select` picks.

    If `select(chosen, candidate)` is false, the candidate replaces the chosen element. Padding is
    never chosen.
    """
    places = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
    padded = window.padded(operand, np.zeros((), operand.dtype))
    index = window.padded(places, np.array(-1, np.int64))
    chosen = np.zeros(source.shape, operand.dtype)
    chosen_at = np.full(source.shape, -1, np.int64)
    for tap in product(*[range(size) for size in window.dimensions]):
        cut = tuple(
            slice(t * dilation, t * dilation + max(0, n - 1) * stride + 1, stride)
            for t, dilation, n, stride in zip(
                tap, window.window_dilations, source.shape, window.strides, strict=True
            )
        )
        candidate, candidate_at = padded[cut], index[cut]
        keep = np.asarray(select(chosen, candidate)) & (chosen_at >= 0)
        replace = (candidate_at >= 0) & ~keep
        chosen = np.where(replace, candidate, chosen)
        chosen_at = np.where(replace, candidate_at, chosen_at)
    result = np.array(np.broadcast_to(init_value, operand.shape)).reshape(-1)
    hit = chosen_at.reshape(-1) >= 0
    combine_at([result], chosen_at.reshape(-1)[hit], [source.reshape(-1)[hit]], reducer)
    return result.reshape(operand.shape)
