"""List plans of a recurrence: rows on partitions, its dimension on the free axis."""

from math import prod

from xdsl.ir import Operation

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts.costs import START_NS, Costs
from neuronir.passes.tile.layouts.maps import cut, own, positions, through_dims
from neuronir.passes.tile.layouts.plans import Plan, register_plans


@register_plans("tile.scan")
def _scan(op: Operation, costs: Costs) -> list[Plan]:
    shape, m = shape_of(op.results[0]), costs.machine
    last = len(shape) - 1
    kept = list(range(last))
    out = []
    for c in costs.candidates(op.results[0]):
        pieces = cut(c, shape)
        if pieces is None or any(d == last for _, _, d in pieces):
            continue
        begins = through_dims(c, shape, shape[:-1], [*kept, None])
        needs = tuple(c if len(shape_of(v)) == len(shape) else begins for v in op.operands)
        if None in needs:
            continue
        left = prod(shape) // max(1, positions(own(c, prod(shape))))
        each = m.dve_two_input_cycles / m.dve_ghz
        cost = costs.weights.vector * (left * each + left // shape[last] * START_NS)
        out.append(Plan(needs, c, cost))
    return out
