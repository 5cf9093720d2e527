"""Simplify gathers of consecutive rows, and with repeated indices."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.evaluate import evaluate_op
from neuronir.passes.hlo.support.values import (
    constant,
    element,
    integer,
    ints,
    producer,
    shape,
    size,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

MOST_PIECES = 64
"""Limit of slices that the rows of a gather become."""
LONGEST_PERIOD = 512
"""Limit of the rows of a period of indices."""
LONG_ROW = 1024
"""Bytes from which a descriptor for each row uses most of the rate of DMA."""


@dataclass(frozen=True)
class Progression:
    """Indices `start`, `start` + `step`, ...: `count` numbers, each of which stands `repeats` times
    in a row."""

    start: int
    step: int
    count: int
    repeats: int

    def rows(self, e: Emitter, table: SSAValue, axis: int) -> SSAValue:
        """Build these rows of a table along an axis: a slice, with a broadcast for repeats."""
        dims = shape(table)
        starts, limits, strides = [0] * len(dims), list(dims), [1] * len(dims)
        starts[axis], limits[axis] = self.start, self.start + self.step * (self.count - 1) + 1
        strides[axis] = max(self.step, 1)
        found = e.slice(table, starts, limits, strides)
        if self.repeats == 1:
            return found
        sizes = shape(found)
        wide = (*sizes[: axis + 1], self.repeats, *sizes[axis + 1 :])
        found = e.broadcast(found, wide, [d for d in range(len(wide)) if d != axis + 1])
        return e.reshape(found, (*dims[:axis], self.count * self.repeats, *dims[axis + 1 :]))


def gather(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite rows at known indices as slices: evenly spaced ones as one, with a broadcast for rows
    that are repeated equally often, and a few such sequences, as in a resize to the nearest pixel
    by a fraction, as their concatenation.
    """
    operand, indices = op.operands
    table = _known_indices(indices)
    mapped = ints(op, "start_index_map")
    if table is None or len(mapped) != 1 or ints(op, "operand_batching_dims"):
        return None
    (axis,) = mapped
    sizes, dims = ints(op, "slice_sizes"), shape(operand)
    if ints(op, "collapsed_slice_dims") != (axis,) or sizes[axis] != 1 or size(op.results[0]) == 0:
        return None
    if any(s != n for d, (s, n) in enumerate(zip(sizes, dims, strict=True)) if d != axis):
        return None
    values = np.clip(table.reshape(-1).astype(np.int64), 0, dims[axis] - 1)
    offset = ints(op, "offset_dims")
    result = shape(op.results[0])
    if not np.diff(values).any():
        one = Progression(int(values[0]), 1, 1, 1)
        rest = [n for d, n in enumerate(dims) if d != axis]
        return e.broadcast(e.reshape(one.rows(e, operand, axis), rest), result, offset)
    batch = [d for d in range(len(result)) if d not in offset]
    places = [*offset[:axis], *batch, *offset[axis:]]  # of the result's dimensions, as they are
    if places != sorted(places):
        return None
    found = _sliced(e, operand, axis, values)
    return None if found is None else e.reshape(found, result)


def _sliced(e: Emitter, table: SSAValue, axis: int, values: NDArray[np.int64]) -> SSAValue | None:
    """Build the rows of a table with the indices `values` of slices; None if a gather is better.

    For rows 0, 0, 1, 2, 2 and 3, 3, 4, 5, 5 and so on, the table consists of groups of three rows.
    """
    whole = progressions(values)
    if len(whole) == 1:
        return whole[0].rows(e, table, axis)
    if prod(shape(table)[axis + 1 :]) * byte_size(element(table)) >= LONG_ROW:
        return None
    period = _period(values)
    if period is not None:
        found = _in_phases(e, table, axis, values, *period, least=len(whole))
        if found is not None:
            return found
    if not _few(whole, values):
        return None
    return e.concatenate([piece.rows(e, table, axis) for piece in whole], axis)


def _in_phases(
    e: Emitter,
    table: SSAValue,
    axis: int,
    values: NDArray[np.int64],
    length: int,
    step: int,
    least: int,
) -> SSAValue | None:
    """Build rows whose indices repeat after `length` rows, plus `step`: the rows of each place in
    the period are one strided slice, or places next to each other together. None if that takes
    `least` slices.
    """
    dims, count = shape(table), values.size // length
    pattern = values[:length]
    first = int(pattern.min())
    if int(pattern.max()) - first < step and first + step * count <= dims[axis]:
        pieces = progressions(pattern - first)
        if not _few(pieces, values) or len(pieces) >= least:
            return None
        cut = Progression(first, 1, step * count, 1).rows(e, table, axis)
        groups = e.reshape(cut, (*dims[:axis], count, step, *dims[axis + 1 :]))
        return e.concatenate([piece.rows(e, groups, axis + 1) for piece in pieces], axis + 1)
    places = [Progression(int(v), step, count, 1) for v in pattern]
    if not _few(places, values) or len(places) >= least:
        return None
    wide = (*dims[:axis], count, 1, *dims[axis + 1 :])
    return e.concatenate([e.reshape(p.rows(e, table, axis), wide) for p in places], axis + 1)


def _few(pieces: Sequence[Progression], values: NDArray[np.int64]) -> bool:
    """Return whether slices are fewer than the rows that a gather moves one by one."""
    return len(pieces) <= MOST_PIECES and 2 * len(pieces) <= values.size


def _period(values: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return (length, step): each number is that of `length` places before plus `step` > 0."""
    for length in range(2, min(LONGEST_PERIOD, values.size // 2) + 1):
        if values.size % length == 0:
            steps = values[length:] - values[:-length]
            if steps[0] > 0 and bool((steps == steps[0]).all()):
                return length, int(steps[0])
    return None


def progressions(values: NDArray[np.int64]) -> list[Progression]:
    """Return a sequence as progressions with steps of at least 0, each as long as possible."""
    edges = np.flatnonzero(np.diff(values)) + 1
    starts = np.concatenate(([0], edges))
    repeats = np.diff(np.concatenate((starts, [values.size]))).tolist()
    numbers = values[starts].tolist()
    found: list[Progression] = []
    i = 0
    while i < len(numbers):
        j, step = i + 1, 1
        if j < len(numbers) and numbers[j] > numbers[i]:
            step = numbers[j] - numbers[i]
        while j < len(numbers) and repeats[j] == repeats[i] and numbers[j] - numbers[j - 1] == step:
            j += 1
        found.append(Progression(numbers[i], step, j - i, repeats[i]))
        i = j
    return found


def _known_indices(value: SSAValue) -> Array | None:
    """Return the array of a constant, a uniform value, or a reshaped or converted iota."""
    number = splat(value)
    if number is not None:
        return np.broadcast_to(number, shape(value))
    table = constant(value)
    if table is not None:
        return table
    for name in ("reshape", "convert"):
        op = producer(value, name)
        if op is not None:
            inner = _known_indices(op.operands[0])
            return None if inner is None else evaluate_op(op, [inner])
    line = producer(value, "iota")
    return None if line is None else evaluate_op(line, [])


def gather_of_broadcast(op: Operation, e: Emitter) -> SSAValue | None:
    """gather(broadcast of indices) -> broadcast(gather): no row is read twice."""
    operand, indices = op.operands
    repeated = producer(indices, "broadcast")
    if repeated is None or ints(op, "operand_batching_dims"):
        return None
    source, dims = repeated.operands[0], ints(repeated, "dimensions")
    index_shape, result = shape(indices), shape(op.results[0])
    vector_dim = integer(op, "index_vector_dim")
    kept = sorted({*dims, vector_dim} & set(range(len(index_shape))))
    offset = ints(op, "offset_dims")
    batch = [d for d in range(len(index_shape)) if d != vector_dim]
    places = dict(zip(batch, (d for d in range(len(result)) if d not in offset), strict=True))
    gone = {places[d] for d in batch if d not in kept}
    if all(result[d] == 1 for d in gone):
        return None
    left = [d for d in range(len(result)) if d not in gone]
    small = e.broadcast(source, [index_shape[d] for d in kept], [kept.index(d) for d in dims])
    properties = op.properties | {
        "offset_dims": i64_array([left.index(d) for d in offset]),
        "index_vector_dim": i64_attr(sum(d < vector_dim for d in kept)),
    }
    rows = tensor(tuple(result[d] for d in left), element(operand))
    return e.broadcast(e.emit("gather", [operand, small], rows, properties), result, left)


RULES: dict[str, tuple[Rule, ...]] = {"hlo.gather": (gather, gather_of_broadcast)}
