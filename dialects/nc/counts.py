"""Read the trip counts of nc loops, constants or registers, and the registers of conditions."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import NOT_EQUAL, LoopOp


def constant_of(value: SSAValue) -> int | None:
    """Return the value of a constant index, or None."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return int(owner.value.value.data)
    return None


def count_load(loop: LoopOp) -> InstructionOp | None:
    """Return the nc.register_load of a loop's trip count, or of its condition before the first
    iteration; None if the count is a constant.

    %n = nc.register_load () = (%x[0:1 | 1:1 | 0 as i32]) {low = 0 : i64, high = 9 : i64} -> index
    scf.for %i = %c0 to %n step %c1 {
    """
    return _load(loop.ub if isinstance(loop, scf.ForOp) else loop.operands[1])


def next_load(loop: scf.WhileOp) -> InstructionOp:
    """Return the nc.register_load of the condition at the end of an iteration.

    Raises NIR_NC003 if the loop does not have the form of `condition_loop`.
    """
    last = loop.after_region.block.last_op
    found = _load(last.operands[1]) if last is not None and len(last.operands) == 2 else None
    if found is None or found.parent is not loop.after_region.block or not _is_normal_while(loop):
        raise NeuronError(
            "NIR_NC003",
            "scf.while: a loop carries the number of the previous iteration, from -1 on, and a "
            "nc.register_load in its body, and ends when the loaded value is 0",
        )
    return found


def _load(value: SSAValue) -> InstructionOp | None:
    owner = value.owner
    if isinstance(owner, InstructionOp) and owner.opcode() == "register_load":
        return owner
    return None


def _is_normal_while(loop: scf.WhileOp) -> bool:
    """Return whether the condition of a loop has the form that `condition_loop` writes."""
    test = loop.before_region.block
    end = test.last_op
    if len(test.args) != 2 or len(loop.operands) != 2 or not isinstance(end, scf.ConditionOp):
        return False
    more, number = end.condition.owner, end.args[0].owner
    if not isinstance(more, arith.CmpiOp) or not isinstance(number, arith.AddiOp):
        return False
    last = loop.after_region.block.last_op
    return (
        more.predicate.value.data == NOT_EQUAL
        and more.lhs is test.args[1]
        and constant_of(more.rhs) == 0
        and number.lhs is test.args[0]
        and constant_of(number.rhs) == 1
        and constant_of(loop.operands[0]) == -1
        and end.args[1] is test.args[1]
        and last is not None
        and last.operands[0] is loop.after_region.block.args[0]
    )


def condition_loop(first: SSAValue, body: Block) -> list[Operation]:
    """Return a loop that runs while a register is not 0, after its constants.

    `body` gets the iteration number and the register, and ends with a yield of the iteration number
    and of the register that the body has loaded.

    %first = nc.register_load () = (%go[0:1 | 1:1 | 0]) {low = 0 : i64, high = 1 : i64} -> index
    scf.while (%last = %cm1, %r = %first) : (index, index) -> (index, index) {
      %i = arith.addi %last, %c1 : index
      %more = arith.cmpi ne, %r, %c0 : index
      scf.condition(%more) %i, %r : index, index
    } do {
    ^bb0(%i: index, %r: index):
      ...
      %next = nc.register_load () = (%go[0:1 | 1:1 | 0]) {low = 0 : i64, high = 1 : i64} -> index
      scf.yield %i, %next : index, index
    }
    """
    index = IndexType()
    before, one, zero = (arith.ConstantOp(IntegerAttr(n, index)) for n in (-1, 1, 0))
    test = Block(arg_types=[index, index])
    number = arith.AddiOp(test.args[0], one)
    more = arith.CmpiOp(test.args[1], zero, "ne")
    test.add_ops([number, more, scf.ConditionOp(more, number, test.args[1])])
    loop = scf.WhileOp([before.result, first], [index, index], Region(test), Region(body))
    return [before, one, zero, loop]


def steers(op: InstructionOp) -> bool:
    """Return whether the register that `op` loads is the trip count or the condition of a loop.

    Every engine loads such a register, because every engine takes part in the loop.
    """
    return any(
        (isinstance(use.operation, scf.ForOp) and use.index == 1)
        or isinstance(use.operation, scf.WhileOp | scf.YieldOp)
        for result in op.results
        for use in result.uses
    )


def is_normal(loop: scf.ForOp) -> bool:
    """Return whether a scf.for runs from 0 in steps of 1 and carries no values."""
    return constant_of(loop.lb) == 0 and constant_of(loop.step) == 1 and not loop.iter_args
