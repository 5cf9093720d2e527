"""Copy operands of an op whose views split its dimensions into incompatible factors.

%a = hlo.reshape %x : 2x5 -> 10          %a = hlo.reshape %x
%b = hlo.reshape %y : 5x2 -> 10     ->   %b = hlo.reshape %y
%c = hlo.add %a, %b                      %d = hlo.copy %b
                                         %c = hlo.add %a, %d
"""

from xdsl.ir import Block

from neuronir.dialects.hlo.unary import CopyOp
from neuronir.passes.statistics import record
from neuronir.passes.tile.group import is_source, is_view, make_group, views_between
from neuronir.passes.tile.whole import tiled


def separate_views(block: Block) -> None:
    """Copy operands until each op of a block has common axes with the views that it reads."""
    order = {op: i for i, op in enumerate(block.ops)}
    for op in list(order):
        if is_view(op) or is_source(op) or tiled(op) is None:
            continue
        split = [
            i
            for i, v in enumerate(op.operands)
            if any(view.name == "hlo.reshape" for view in views_between(v))
        ]
        while len(split) > 1 and make_group([op], order) is None:
            i = split.pop()
            copy = CopyOp.create(operands=[op.operands[i]], result_types=[op.operands[i].type])
            copy.location = op.location
            block.insert_op_before(copy, op)
            op.operands[i] = copy.results[0]
            record("tile-fuse", "operands copied")
