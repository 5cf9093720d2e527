"""Write results directly to their part of a concatenation, without a copy."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.data_movement import ConcatenateOp
from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    dim_atoms,
    join,
    merge,
    row_major,
    split_at,
)
from neuronir.passes.lowering.layouts.values import Partition, Value, slice_value
from neuronir.passes.lowering.state import Lowering

LARGE_SHARE = 2
"""A concatenated result stays in HBM if it exceeds this fraction of a partition."""


def too_large(state: Lowering, shape: Sequence[int], partition: Partition, dtype: DType) -> bool:
    """Return whether a concatenated result in this layout takes too much of SBUF."""
    elements = -(-prod(shape) // max(1, prod(a.size for a, _ in partition)))
    return elements * dtype.size * LARGE_SHARE > state.machine.sbuf_usable_partition_bytes


def joined_by(value: SSAValue) -> ConcatenateOp | None:
    """Return the concatenation that is the only reader of a value."""
    if not value.has_one_use():
        return None
    user = next(iter(value.uses)).operation
    return user if isinstance(user, ConcatenateOp) else None


def part_form(state: Lowering, value: SSAValue, partition: Partition, dtype: DType) -> Form | None:
    """Return the position of a value, in this layout, in its concatenation.

    Returns None if there is none, or if it has another layout.
    """
    op = joined_by(value)
    if op is None or op in state.loops.streamed or state.dtype(op.results[0]) is not dtype:
        return None
    if value in state.results.pieces:
        return None
    target = state.results.joined.get(op) or _begin(state, op, value, partition, dtype)
    if target is None:
        return None
    d = int(op.dimension.value.data)
    shape, part = state.shape(op.results[0]), state.shape(value)
    starts, limits = [0] * len(shape), list(shape)
    starts[d] = _first(state, op, value)
    limits[d] = starts[d] + part[d]
    support = merge(dim_atoms(shape, range(len(shape))))
    window = slice_value(Value(shape, dtype, support, [target]), starts, limits, [1] * len(shape))
    assert window.from_source is not None
    form = window.from_source(target)
    if form is None or join(form.partition) != join(partition) or form.start:
        return None
    state.results.joined[op] = target
    return form


def _begin(
    state: Lowering, op: ConcatenateOp, value: SSAValue, partition: Partition, dtype: DType
) -> Form | None:
    """Allocate a concatenation, one of whose operands has the layout `partition`."""
    shape, part = state.shape(op.results[0]), state.shape(value)
    old, new = row_major(part), row_major(shape)
    cuts = {c for s, n in zip(old, part, strict=True) for c in (s, s * n)}
    whole: list[tuple[Atom, int]] = []
    for a, step in partition:
        for b in split_at(a, cuts) or (a,):
            d = next(
                (i for i, n in enumerate(part) if old[i] <= b.stride and b.end <= old[i] * n), -1
            )
            if d < 0 or b.ragged or shape[d] * new[d] % (b.end // old[d] * new[d]):
                return None
            moved = Atom(b.size, b.stride // old[d] * new[d], b.unit // old[d] * new[d], b.extent)
            whole.append((moved, step * (b.stride // a.stride)))
    layout = join(whole)
    if too_large(state, shape, layout, dtype):
        return None
    support = merge(dim_atoms(shape, range(len(shape))))
    outer = part_form(state, op.results[0], layout, dtype)
    return outer or state.allocate(support, layout, dtype)


def _first(state: Lowering, op: Operation, value: SSAValue) -> int:
    """Return where an operand starts along the dimension of a concatenation."""
    assert isinstance(op, ConcatenateOp)
    d, low = int(op.dimension.value.data), 0
    for operand in op.operands:
        if operand is value:
            break
        low += state.shape(operand)[d]
    return low
