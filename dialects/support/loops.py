"""Treat scf.for and scf.while as one kind of loop, whose body takes an index and the carried
values.

The first argument of a body is an index: the iteration number of scf.for, the condition of
scf.while on tiles (a register, which is not 0). All others are the values that the loop carries.
"""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

LoopOp = scf.ForOp | scf.WhileOp


def body_of(loop: LoopOp) -> Block:
    """Return the block that an iteration runs."""
    return loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block


def is_body(block: Block) -> bool:
    """Return whether a block is the body of a loop."""
    return isinstance(block.parent_op(), LoopOp)


def first_operand(loop: LoopOp) -> int:
    """Return the number of the operand with the first carried value."""
    return 3 if isinstance(loop, scf.ForOp) else 1


def first_result(loop: LoopOp) -> int:
    """Return the number of the first carried value among the results of a loop, and among the
    operands of the yield of its body.
    """
    return 0 if isinstance(loop, scf.ForOp) else 1


def initial_values(loop: LoopOp) -> Sequence[SSAValue]:
    """Return the carried values before the first iteration."""
    return loop.operands[first_operand(loop) :]


def final_values(loop: LoopOp) -> Sequence[SSAValue]:
    """Return the carried values after the last iteration."""
    return loop.results[first_result(loop) :]


def carried_values(loop: LoopOp) -> Sequence[BlockArgument]:
    """Return the carried values in an iteration."""
    return body_of(loop).args[1:]


def next_values(loop: LoopOp) -> Sequence[SSAValue]:
    """Return the carried values of the next iteration."""
    return yield_of(loop).operands[first_result(loop) :]


def yield_of(loop: LoopOp) -> scf.YieldOp:
    """Return the end of the body."""
    last = body_of(loop).last_op
    assert isinstance(last, scf.YieldOp)
    return last


def initial_value(argument: BlockArgument) -> SSAValue | None:
    """Return the value of a carried value before the first iteration; None if no loop carries
    it.
    """
    loop = argument.owner.parent_op()
    if not isinstance(loop, LoopOp) or argument.index == 0:
        return None
    return initial_values(loop)[argument.index - 1]


def while_loop(first: SSAValue, values: Sequence[SSAValue], body: Block) -> scf.WhileOp:
    """Create a loop that runs while an index is not 0: `first`, then the first value that the body
    yields.

    %r:2 = scf.while (%go = %first, %x = %value) : (index, T) -> (index, T) {
      %c0 = arith.constant 0 : index
      %more = arith.cmpi ne, %go, %c0 : index
      scf.condition(%more) %go, %x : index, T
    } do {
    ^bb0(%go: index, %x: T):
      ...
      scf.yield %next, %y : index, T
    }
    """
    types = [first.type, *(v.type for v in values)]
    test = Block(arg_types=types)
    zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
    more = arith.CmpiOp(test.args[0], zero, "ne")
    test.add_ops([zero, more, scf.ConditionOp(more, *test.args)])
    return scf.WhileOp([first, *values], types, Region(test), Region(body))


def tests_index(loop: scf.WhileOp) -> bool:
    """Return whether a loop has the form of `while_loop`: it runs while its first value is not 0,
    and its condition passes all values on.
    """
    test = loop.before_region.block
    end = test.last_op
    if not isinstance(end, scf.ConditionOp) or tuple(end.args) != tuple(test.args):
        return False
    more = end.condition.owner
    if not isinstance(more, arith.CmpiOp) or more.predicate.value.data != NOT_EQUAL:
        return False
    zero = more.rhs.owner
    return (
        more.lhs is test.args[0]
        and isinstance(zero, arith.ConstantOp)
        and isinstance(zero.value, IntegerAttr)
        and zero.value.value.data == 0
    )


NOT_EQUAL = 1
"""The predicate `ne` of arith.cmpi."""


def copy_types(loop: Operation) -> None:
    """Give the condition's block of a scf.while the types of the carried values."""
    if isinstance(loop, scf.WhileOp):
        for argument, value in zip(loop.before_region.block.args, loop.operands, strict=True):
            argument._type = value.type
