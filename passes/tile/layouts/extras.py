"""Find partitions that come from other values.

These are partitions of small values that are broadcast to large ones, of reductions whose results
are on all partitions, and of slices.
"""

from collections.abc import Mapping
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import span
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.maps import (
    SLICES,
    Partition,
    own,
    positions,
    repeats,
    through_dims,
)
from neuronir.passes.tile.layouts.values import Values

MOST = 12
"""Limit of such partitions of a value."""

Extras = Mapping[SSAValue, tuple[Partition, ...]]


def extras(values: Values) -> Extras:
    """Return the partitions that each value may have in addition to those of its own dimensions."""
    found: dict[SSAValue, dict[Partition, None]] = {}
    laid_out = [
        op
        for op in values.ops
        if op.results and isinstance(op.results[0].type, TensorType) and values.laid_out(op)
    ]
    for op in reversed(laid_out):
        value = op.results[0]
        mine = found.setdefault(value, {})
        for use in values.uses(value):
            if any(view.name in SLICES for view in use.views):
                for c in candidates(shape_of(use.views[0].results[0]), values.limit):
                    _add_plain(mine, value, values.back(use.views, c), values.limit)
            if use.op.name not in ELEMENTWISE or not use.op.results:
                continue
            result = use.op.results[0]
            for c in (*candidates(shape_of(result), values.limit), *found.get(result, ())):
                _add(mine, value, values.back(use.views, c))
            for c in found.get(result, ()):
                _add_plain(mine, value, values.back(use.views, c), values.limit)
    for op in laid_out:
        value = op.results[0]
        mine = found[value]
        if op.name == "hlo.reduce":
            for c in candidates(shape_of(op.operands[0]), values.limit):
                _add(mine, value, _reduced(op, c))
        elif op.name in ELEMENTWISE:
            for v in op.operands:
                root, views = values.chain(v)
                for c in found.get(root, ()):
                    _add(mine, value, values.forward(views, c))
    return {v: tuple(mine) for v, mine in found.items() if mine}


def _add(mine: dict[Partition, None], value: SSAValue, partition: Partition | None) -> None:
    """Record a partition whose digits belong to the value or repeat it, without gaps."""
    if partition is None or len(mine) >= MOST:
        return
    size = prod(shape_of(value))
    mixed = own(partition, size) and repeats(partition, size)
    if mixed and span(partition) == positions(partition):
        mine[partition] = None


def _add_plain(
    mine: dict[Partition, None], value: SSAValue, partition: Partition | None, limit: int
) -> None:
    """Record digits that divide slices, if those of the whole value do not."""
    if not partition or len(mine) >= MOST or own(partition, prod(shape_of(value))) != partition:
        return
    if partition not in candidates(shape_of(value), limit):
        mine[partition] = None


def _reduced(op: Operation, partition: Partition) -> Partition | None:
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    reduced = ints(op, "dimensions")
    kept = [d for d in range(len(source)) if d not in reduced]
    dims = [None if d in reduced else kept.index(d) for d in range(len(source))]
    return through_dims(partition, source, shape, dims)
