"""hlo-fold-conditional: replace a conditional on a known predicate or index by its branch."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.passes.hlo.branches import is_pure
from neuronir.passes.hlo.inline import move_block
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.evaluate import known_value
from neuronir.passes.hlo.support.values import element, shape
from neuronir.passes.hlo.support.walk import functions
from neuronir.passes.statistics import record


def taken_branch(op: Operation) -> int | None:
    """Return the branch that a conditional takes, if it follows from constants."""
    selector = known_value(op.operands[0], {})
    if selector is None:
        return None
    if selector.dtype.kind == "b":
        return 0 if bool(selector) else 1
    index = int(selector)
    # An index out of range selects the last branch.
    return index if 0 <= index < len(op.regions) else len(op.regions) - 1


def fold_block(block: Block, select: bool) -> int:
    """Fold the conditionals of a block, including those inside the branches taken."""
    count = 0
    op = block.first_op
    while op is not None:
        following = op.next_op
        value: SSAValue | None = None
        before = op.prev_op
        if op.name == "hlo.conditional":
            branch = taken_branch(op)
            if branch is not None:
                value = move_block(op.regions[branch].block, [op.operands[1 + branch]], op)
            elif select and is_pure(op):
                value = _chosen(op)
        if value is None:
            for region in op.regions:
                for inner in region.blocks:
                    count += fold_block(inner, select)
        else:
            op.results[0].replace_all_uses_with(value)
            # Continue with the ops that were moved here.
            following = block.first_op if before is None else before.next_op
            following = op.next_op if following is op else following
            # Its operands stay, even if nothing reads them: one may be the op before.
            op.detach()
            op.erase()
            count += 1
        op = following
    return count


def _chosen(op: Operation) -> SSAValue:
    """Inline all branches and select elementwise between their results."""
    selector = op.operands[0]
    results = [
        move_block(region.block, [operand], op)
        for region, operand in zip(op.regions, op.operands[1:], strict=True)
    ]
    emitter = Emitter(op)
    value = results[-1]
    for i in reversed(range(len(results) - 1)):
        pred = selector
        if element(selector) != i1:
            pred = emitter.compare_number(selector, i, "EQ")
        value = _choice(emitter, pred, results[i], value)
    return value


def _choice(emitter: Emitter, pred: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
    if isinstance(one.type, TupleType):
        parts = [
            _choice(emitter, pred, emitter.tuple_element(one, i), emitter.tuple_element(other, i))
            for i in range(len(one.type.types.data))
        ]
        return emitter.tuple(parts)
    return emitter.select(emitter.broadcast(pred, shape(one), ()), one, other)


@dataclass(frozen=True)
class HloFoldConditionalPass(ModulePass):
    """Replace a conditional with a constant predicate or index by the branch taken.

    An index out of range selects the last branch, as HLO defines. Branches with side effects are
    not changed.
    """

    name = "hlo-fold-conditional"
    select: bool = field(
        default=False,
        metadata={
            "help": (
                "replace data-dependent conditionals by all their branches and "
                "elementwise selects, for machines without branches"
            )
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        folded = sum(
            fold_block(block, self.select) for f in functions(op) for block in f.body.blocks
        )
        record(self.name, "folded", folded)
