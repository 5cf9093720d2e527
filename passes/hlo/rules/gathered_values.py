"""Compute elementwise ops on the elements that a gather reads, not on all of its operand."""

from collections.abc import Callable
from functools import partial

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.tile.rules import ELEMENTWISE
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, producer, shape, size, tensor
from neuronir.passes.hlo.support.walk import Rule

COMPUTED = frozenset(ELEMENTWISE)
_MANY = 16
"""An op that others read too is computed again for a gather of at most this part of its elements.

The gather is then no reason to store all of them.
"""


def gather_of_elementwise(op: Operation, e: Emitter) -> SSAValue | None:
    """gather(f(x, broadcast(y))) -> f(gather(x), gather(broadcast(y))), if it reads fewer elements
    than f computes, and nothing else reads them.

    For example, a loss reads one logarithm of a probability for each row. At most one operand of f
    is gathered; the other ones are broadcasts.
    """
    maker, indices = op.operands[0].owner, op.operands[1]
    if not isinstance(maker, Operation) or maker.name not in COMPUTED:
        return None
    result, whole = shape(op.results[0]), shape(maker.results[0])
    gain = 1 if maker.results[0].has_one_use() else _MANY
    if size(op.results[0]) * gain >= size(maker.results[0]):
        return None
    ways = {v: _of_broadcast(op, v, e) for v in maker.operands if shape(v) == whole}
    if sum(way is None for way in ways.values()) > 1:
        return None
    read = {
        v: e.emit("gather", [v, indices], tensor(result, element(v)), op.properties)
        if way is None
        else way()
        for v, way in ways.items()
    }
    operands = [read.get(v, v) for v in maker.operands]
    return e.like(maker, operands, tensor(result, element(op.results[0])))


def _of_broadcast(op: Operation, value: SSAValue, e: Emitter) -> Callable[[], SSAValue] | None:
    """Return how to build what a gather reads of a broadcast from its source; None if that is not
    simple.

    The source has all of the dimensions that the indices choose from, or none of them. Of its other
    dimensions, the gather reads all positions.
    """
    repeated = producer(value, "broadcast")
    if repeated is None:
        return None
    source, dims = repeated.operands[0], ints(repeated, "dimensions")
    if list(dims) != sorted(dims) or any(shape(value)[d] != n for d, n in _sizes(source, dims)):
        return None
    places = result_dims(op)
    chosen = ints(op, "start_index_map")
    result = shape(op.results[0])
    sizes = ints(op, "slice_sizes")
    if not set(chosen) & set(dims):
        if any(d not in places or result[places[d]] != n for d, n in _sizes(source, dims)):
            return None
        to = [places[d] for d in dims]
        return partial(e.broadcast, source, result, to) if to == sorted(to) else None
    if not set(chosen) <= set(dims):
        return None
    return partial(_of_source, op, source, dims, [sizes[d] for d in dims], e)


def _sizes(source: SSAValue, dims: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(dims, shape(source), strict=True))


def result_dims(op: Operation) -> dict[int, int]:
    """Return the dimension of a gather's result for each dimension of its operand that is a batch
    dimension, or of which the indices choose no position.
    """
    offset, places = ints(op, "offset_dims"), _offsets(op)
    batch = [d for d in range(len(shape(op.results[0]))) if d not in offset]
    vector = integer(op, "index_vector_dim")
    pairs = zip(
        ints(op, "operand_batching_dims"), ints(op, "start_indices_batching_dims"), strict=True
    )
    for d, index_dim in pairs:
        places[d] = batch[index_dim - (index_dim > vector)]
    return {d: place for d, place in places.items() if d not in ints(op, "start_index_map")}


def _of_source(
    op: Operation, source: SSAValue, dims: tuple[int, ...], sizes: list[int], e: Emitter
) -> SSAValue:
    """Build the gather from the source of a broadcast, with dimensions `dims` of the operand."""
    result = shape(op.results[0])
    pairs = zip(
        ints(op, "operand_batching_dims"), ints(op, "start_indices_batching_dims"), strict=True
    )
    batching = [(dims.index(d), index_dim) for d, index_dim in pairs if d in dims]
    gone = {place for d, place in _offsets(op).items() if d not in dims}
    left = [d for d in range(len(result)) if d not in gone]
    properties = op.properties | {
        "operand_batching_dims": i64_array([d for d, _ in batching]),
        "start_indices_batching_dims": i64_array([d for _, d in batching]),
        "collapsed_slice_dims": i64_array(
            [dims.index(d) for d in ints(op, "collapsed_slice_dims") if d in dims]
        ),
        "start_index_map": i64_array([dims.index(d) for d in ints(op, "start_index_map")]),
        "slice_sizes": i64_array(sizes),
        "offset_dims": i64_array([left.index(d) for d in ints(op, "offset_dims") if d not in gone]),
    }
    rows = tensor(tuple(result[d] for d in left), element(source))
    found = e.emit("gather", [source, op.operands[1]], rows, properties)
    return e.broadcast(found, result, left) if gone else found


def _offsets(op: Operation) -> dict[int, int]:
    """Return the dimension of the result for each dimension of the operand that it keeps."""
    dropped = {*ints(op, "operand_batching_dims"), *ints(op, "collapsed_slice_dims")}
    kept = [d for d in range(len(shape(op.operands[0]))) if d not in dropped]
    return dict(zip(kept, ints(op, "offset_dims"), strict=True))


RULES: dict[str, tuple[Rule, ...]] = {"hlo.gather": (gather_of_elementwise,)}
