"""hlo-fold-conditional: a conditional on a known predicate or index becomes the branch it takes."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from neuronir.passes.hlo.inline import move_block
from neuronir.passes.hlo.support.evaluate import known_value
from neuronir.passes.hlo.support.walk import functions, replace
from neuronir.passes.statistics import record


def taken_branch(op: Operation) -> int | None:
    """The number of the branch that a conditional takes, if that follows from constants."""
    selector = known_value(op.operands[0], {})
    if selector is None:
        return None
    if selector.dtype.kind == "b":
        return 0 if bool(selector) else 1
    index = int(selector)
    # Outside the range the last branch runs.
    return index if 0 <= index < len(op.regions) else len(op.regions) - 1


def fold_block(block: Block) -> int:
    """Fold the conditionals of a block, including those inside branches that it takes."""
    count = 0
    op = block.first_op
    while op is not None:
        following = op.next_op
        branch = taken_branch(op) if op.name == "hlo.conditional" else None
        if branch is not None:
            body = op.regions[branch].block
            first = body.first_op if body.first_op is not body.last_op else None
            value = move_block(body, [op.operands[1 + branch]], op)
            replace(op, value)
            count += 1
            following = first if first is not None and first.parent is block else following
        else:
            for region in op.regions:
                for inner in region.blocks:
                    count += fold_block(inner)
        op = following
    return count


@dataclass(frozen=True)
class HloFoldConditionalPass(ModulePass):
    """Replace a conditional whose predicate or index follows from constants by the branch taken.

    An index out of range takes the last branch, as HLO defines.
    """

    name = "hlo-fold-conditional"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = sum(fold_block(block) for f in functions(op) for block in f.body.blocks)
        record(self.name, "folded", folded)
