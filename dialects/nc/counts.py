"""Read the trip counts of nc loops: constants, or counts that are loaded at run time."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import InstructionOp


def constant_of(value: SSAValue) -> int | None:
    """Return the value of a constant index, or None."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return int(owner.value.value.data)
    return None


def count_load(loop: scf.ForOp) -> InstructionOp | None:
    """Return the nc.register_load of a loop's trip count, or None if the count is not loaded.

    %n = nc.register_load () = (%x[0:1 | 1:1 | 0 as i32]) {low = 0 : i64, high = 9 : i64} -> index
    scf.for %i = %c0 to %n step %c1 {
    """
    owner = loop.ub.owner
    loaded = isinstance(owner, InstructionOp) and owner.opcode() == "register_load"
    return owner if loaded and isinstance(owner, InstructionOp) else None


def bounds_count(op: InstructionOp) -> bool:
    """Return whether the register that `op` loads is the trip count of a loop.

    Every engine loads such a register, because every engine takes part in the loop.
    """
    return any(
        isinstance(use.operation, scf.ForOp) and use.index == 1
        for result in op.results
        for use in result.uses
    )


def is_normal(loop: scf.ForOp) -> bool:
    """Return whether a loop runs from 0 in steps of 1 and carries no values."""
    return constant_of(loop.lb) == 0 and constant_of(loop.step) == 1 and not loop.iter_args
