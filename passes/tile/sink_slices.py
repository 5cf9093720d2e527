"""Slice arrays before they are viewed, so that a view or a conversion is of a part only.

%c = hlo.convert %x                     scf.for %i ... {
scf.for %i ... {                          %t = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1]
  %t = tensor.extract_slice %c[%i, 0] ..    %u = hlo.convert %t
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.walking import walk_in
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, tensor
from neuronir.passes.tile.group import is_cast
from neuronir.passes.tile.retile import slice_properties

Start = int | SSAValue
"""Where a slice starts along a dimension."""


def sink_slices(op: Operation) -> None:
    """Move the slices inside an op before the views and conversions of the arrays that they read.

    These are conversions that are part of a load, transposes and broadcasts.
    """
    for region in op.regions:
        for block in region.blocks:
            for inner in list(walk_in(block)):
                if isinstance(inner, ExtractSliceOp) and _unit(inner):
                    _sink(inner)


def slice_of(
    build: Emitter, array: SSAValue, starts: Sequence[Start], sizes: Sequence[int]
) -> SSAValue:
    """Return a slice of an array with unit strides, taken before views of the array."""
    if tuple(sizes) == shape_of(array):
        return array
    op = array.owner
    if isinstance(op, Operation) and is_cast(op):
        part = slice_of(build, op.operands[0], starts, sizes)
        return build.convert(part, element(array))
    if isinstance(op, Operation) and op.name == "hlo.transpose":
        order = ints(op, "permutation")
        inner = [order.index(d) for d in range(len(order))]
        part = slice_of(
            build, op.operands[0], [starts[d] for d in inner], [sizes[d] for d in inner]
        )
        return build.transpose(part, order)
    if isinstance(op, Operation) and op.name == "hlo.broadcast":
        mapped = ints(op, "dimensions")
        part = slice_of(
            build, op.operands[0], [starts[d] for d in mapped], [sizes[d] for d in mapped]
        )
        return build.broadcast(part, sizes, mapped)
    new = ExtractSliceOp.build(
        operands=[array, [at for at in starts if not isinstance(at, int)], [], []],
        result_types=[tensor(tuple(sizes), element(array))],
        properties=slice_properties(
            [at if isinstance(at, int) else DYNAMIC_INDEX for at in starts], sizes
        ),
    )
    return build.insert(new).results[0]


def _sink(op: ExtractSliceOp) -> None:
    maker = op.source.owner
    if not isinstance(maker, Operation):
        return
    if not is_cast(maker) and maker.name not in ("hlo.transpose", "hlo.broadcast"):
        return
    moving = iter(op.offsets)
    starts: list[Start] = [
        next(moving) if n == DYNAMIC_INDEX else n for n in op.static_offsets.get_values()
    ]
    found = slice_of(Emitter(op), op.source, starts, shape_of(op.result))
    op.result.replace_all_uses_with(found)
    op.detach()
    op.erase()


def _unit(op: ExtractSliceOp) -> bool:
    """Return whether a slice has static sizes and unit strides."""
    dynamic = len(op.sizes) + len(op.strides)
    return not dynamic and all(n == 1 for n in op.static_strides.get_values())
