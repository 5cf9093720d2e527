"""Find conditionals of a loop whose branch depends on what the loop computes."""

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.hlo.support.values import constant, integer
from neuronir.passes.hlo.support.walk import has_effect
from neuronir.passes.hlo.while_carry import GTE, WhileParts, while_parts


def follows_data(op: Operation, loop: Operation) -> bool:
    """Return whether a conditional in the body of a loop depends on arguments of the program.

    Its branches become selects. If it depends on the counter and on constants alone, unrolling
    shows the branch that each iteration takes.
    """
    parts = while_parts(loop)
    if parts is None:
        return False
    return not _reads(op.operands[0], parts.body) <= _known(parts)


def _known(parts: WhileParts) -> set[int]:
    """Return the carried elements whose values follow from constants in each iteration."""
    known = {i for i, v in enumerate(parts.init) if constant(v) is not None}
    reads = {i: _reads(parts.next[i], parts.body) for i in known}
    while lost := {i for i in known if not reads[i] <= known}:
        known -= lost
    return known


def branch_ops(op: Operation) -> Iterator[Operation]:
    """Yield the ops of the branches of a conditional, those of inner conditionals included."""
    for region in op.regions:
        for inner in region.block.ops:
            if inner.name == "hlo.conditional":
                yield from branch_ops(inner)
            elif inner.name != "hlo.return":
                yield inner


def is_pure(op: Operation) -> bool:
    """Return whether the branches of a conditional have no side effects."""
    return not any(has_effect(inner) for inner in branch_ops(op))


def _reads(value: SSAValue, body: Block) -> set[int]:
    """Return the carried elements that a value of the body is computed from."""
    found: set[int] = set()
    work, seen = [value], set[Operation]()
    while work:
        op = work.pop().owner
        if not isinstance(op, Operation) or op in seen or op.parent is not body:
            continue
        seen.add(op)
        if op.name == GTE and op.operands[0] is body.args[0]:
            found.add(integer(op, "index"))
        work += op.operands
    return found
