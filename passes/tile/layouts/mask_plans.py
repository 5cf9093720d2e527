"""List plans of a mask: DVE or POOL writes only the masked elements, in place."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.tile.ops import MaskOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.maps import cut, own
from neuronir.passes.tile.layouts.plans import Plan, register_plans


@register_plans("tile.mask")
def _mask(op: Operation, costs: Costs) -> list[Plan]:
    assert isinstance(op, MaskOp)
    shape = shape_of(op.result)
    out = []
    for c in costs.candidates(op.result):
        pieces = cut(c, shape)
        if own(c, prod(shape)) != c or pieces is None:
            continue
        share = 1 - op.count / shape[op.along]
        if any(d == op.along for _, _, d in pieces):
            if not costs.machine.has_pool or not selectable(pieces):
                continue
            share = 1.0
        out.append(Plan((c,), c, costs.elementwise(shape, c, share)))
    return out


def selectable(pieces: Sequence[tuple[Atom, int, int]]) -> bool:
    """Return whether positions along the dimension on partitions are affine in the partition."""
    return len(pieces) == 1 and pieces[0][1] == 1
