"""Simplify gathers of consecutive rows, and with repeated indices."""

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.hlo.resources import Array
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


def gather(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite rows at known, evenly spaced indices as a slice, with a broadcast for rows that are
    repeated equally often, as in a resize to the nearest pixel.
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
    row = _progression(np.clip(table.reshape(-1).astype(np.int64), 0, dims[axis] - 1))
    if row is None:
        return None
    start, step, count, repeats = row
    offset = ints(op, "offset_dims")
    result = shape(op.results[0])
    starts, limits, strides = [0] * len(dims), list(dims), [1] * len(dims)
    starts[axis] = start
    if step == 0:
        limits[axis] = start + 1
        rest = [n for d, n in enumerate(dims) if d != axis]
        return e.broadcast(e.reshape(e.slice(operand, starts, limits), rest), result, offset)
    batch = [d for d in range(len(result)) if d not in offset]
    places = [*offset[:axis], *batch, *offset[axis:]]  # of the result's dimensions, as they are
    if places != sorted(places):
        return None
    limits[axis], strides[axis] = start + step * (count - 1) + 1, step
    found = e.slice(operand, starts, limits, strides)
    if repeats > 1:
        wide = (*shape(found)[: axis + 1], repeats, *shape(found)[axis + 1 :])
        found = e.broadcast(found, wide, [d for d in range(len(wide)) if d != axis + 1])
    return e.reshape(found, result)


def _progression(values: Array) -> tuple[int, int, int, int] | None:
    """Return (start, step, count, repeats) of an arithmetic progression with a step of at least 0,
    each of whose `count` numbers stands `repeats` times in a row.
    """
    changes = np.flatnonzero(np.diff(values))
    if changes.size == 0:
        return int(values[0]), 0, 1, int(values.size)
    repeats = int(changes[0]) + 1
    if values.size % repeats:
        return None
    numbers = values[::repeats]
    step = int(numbers[1] - numbers[0])
    even = np.repeat(numbers[0] + step * np.arange(numbers.size), repeats)
    if step < 0 or not bool((values == even).all()):
        return None
    return int(numbers[0]), step, int(numbers.size), repeats


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
