"""Compute slices of elementwise values and dots from slices of their operands.

In a recurrent layer, one dot computes all gates, which are slices of it. With separate dots of
sliced weights, each gate waits only for its own dot, and evicts it from PSUM.
"""

from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.dialects.support.loops import is_body
from neuronir.dialects.tile.interface import tiling_of
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.group import is_cast, is_view, root_of

LEAST = 2
"""Minimum number of slices of a value."""


def split_slices(block: Block) -> None:
    """Split values of a block that are only read in slices along one dimension."""
    inside = {block, *block.ops}
    for op in reversed(list(block.ops)):
        if op.parent is not block or len(op.results) != 1:
            continue
        if any(root_of(v).owner in inside for v in op.operands):
            split_op(op)


def split_op(op: Operation) -> None:
    """Split an op whose result is only read in disjoint slices along one dimension."""
    along = _sliced_along(op)
    if along is None:
        return
    for use in list(op.results[0].uses):
        part = use.operation
        new = _of_slices(op, part, along)
        part.results[0].replace_all_uses_with(new)
        part.detach()
        part.erase()
    erase_dead(op)


def _sliced_along(op: Operation) -> int | None:
    """Return the dimension along which all readers take disjoint slices of a result, or None."""
    users = [use.operation for use in op.results[0].uses]
    if len(users) < LEAST or any(u.name != "hlo.slice" or u.parent is not op.parent for u in users):
        return None
    if op.name not in ELEMENTWISE and op.name != "hlo.dot":
        return None
    shape = shape_of(op.results[0])
    dims = {
        d
        for u in users
        for d, (n, m) in enumerate(zip(shape, shape_of(u.results[0]), strict=True))
        if n != m
    }
    if len(dims) != 1 or any(n != 1 for u in users for n in ints(u, "strides")):
        return None
    (along,) = dims
    ends = sorted((ints(u, "start_indices")[along], ints(u, "limit_indices")[along]) for u in users)
    if any(b > c for (_, b), (c, _) in zip(ends, ends[1:], strict=False)):
        return None
    if op.name == "hlo.dot" and along < len(ints(op, "lhs_batch_dims")):
        return None
    return along


def _of_slices(op: Operation, part: Operation, along: int) -> SSAValue:
    """Return a slice of an op's result, computed from slices of its operands."""
    first, end = ints(part, "start_indices")[along], ints(part, "limit_indices")[along]
    build = Emitter(op, source=op)
    tiling = tiling_of(op)
    assert tiling is not None
    operands = [
        _slice(build, v, needs.index(along), first, end) if along in needs else v
        for v, needs in zip(op.operands, tiling.operands, strict=True)
    ]
    type_ = tensor(shape_of(part.results[0]), element(op.results[0]))
    return build.like(op, operands, type_)


def _slice(build: Emitter, value: SSAValue, along: int, first: int, end: int) -> SSAValue:
    """Slice a value.

    A broadcast along the dimension becomes a smaller broadcast, and a slice of one operand of a
    concatenation is taken from that operand.
    """
    shape = shape_of(value)
    if isinstance(value, OpResult) and value.op.name == "hlo.concatenate":
        low = 0
        for piece in value.op.operands:
            high = low + shape_of(piece)[along]
            if integer(value.op, "dimension") == along and low <= first and end <= high:
                return _slice(build, piece, along, first - low, end - low)
            low = high
    if first == 0 and end == shape[along]:
        return value
    owner = value.owner
    if isinstance(value, OpResult) and value.op.name == "hlo.broadcast" and is_view(value.op):
        assert isinstance(owner, Operation)
        dims = ints(owner, "dimensions")
        sizes = [*shape[:along], end - first, *shape[along + 1 :]]
        source = owner.operands[0]
        if along in dims and shape_of(source)[dims.index(along)] == shape[along]:
            source = _slice(build, source, dims.index(along), first, end)
        return build.broadcast(source, sizes, dims)
    block = build.anchor.parent
    once = block is not None and not is_body(block)
    if once and isinstance(value, OpResult) and is_cast(value.op) and value.op.parent is block:
        source = _slice(build, value.op.operands[0], along, first, end)
        return build.convert(source, element(value))
    starts, limits = [0] * len(shape), list(shape)
    starts[along], limits[along] = first, end
    return build.slice(value, starts, limits)
