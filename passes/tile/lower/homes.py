"""Compute loop-carried values in the buffer of the state, if its old value is dead by then."""

from math import prod

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.support.loops import LoopOp, body_of, next_values
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.tile.group import root_of
from neuronir.passes.tile.layouts.maps import sees
from neuronir.passes.tile.lower.state import Lower

WAITING = frozenset(f"hlo.{n}" for n in ("dot", "convolution", "convert", "copy", "negate"))
"""Ops, besides those with one scalar, that may be evaluated lazily by their reader."""


def find_homes(state: Lower, op: LoopOp, sums: dict[int, Form]) -> None:
    """Let ops of a loop body write carried values into the buffers of their states."""
    block = body_of(op)
    order = {inner: k for k, inner in enumerate(block.ops)}
    for i, form in sums.items():
        value, argument = next_values(op)[i], block.args[i + 1]
        while isinstance(value.owner, Operation) and value.owner.name == "hlo.copy":
            if value.owner.operands[0].type != argument.type:
                break
            value = value.owner.operands[0]
        maker = value.owner
        if not isinstance(maker, Operation) or maker.parent is not block or value in state.homes:
            continue
        plain = maker.name in ELEMENTWISE or maker.name == "hlo.composite"
        if plain and value.type == argument.type:
            if _read_before(argument, _writer(maker), order):
                state.homes[value] = form


def _writer(maker: Operation) -> Operation:
    """Return the op whose instruction writes a value; a conversion may be part of another op's
    instruction.
    """
    if maker.name != "hlo.convert":
        return maker
    source = maker.operands[0]
    before = source.owner
    if isinstance(before, Operation) and before.parent is maker.parent and source.has_one_use():
        if before.name in ELEMENTWISE or before.name == "hlo.composite":
            return before
    return maker


def _read_before(argument: BlockArgument, maker: Operation, order: dict[Operation, int]) -> bool:
    """Return whether all reads of a state precede the op that writes the next value.

    The op itself may read the state, element by element.
    """
    block = argument.owner
    work: list[SSAValue] = [argument]
    while work:
        value = work.pop()
        for use in value.uses:
            reader = _in_block(use.operation, block)
            if reader is maker:
                if value is not argument and _lies_elsewhere(value):
                    return False
                continue
            if order[reader] > order[maker] or isinstance(reader, scf.YieldOp):
                return False
            if sees(reader) or _may_wait(reader):
                work += reader.results
    return True


def _may_wait(op: Operation) -> bool:
    """Return whether an op may be computed together with its reader, or stored in place of its
    operand.
    """
    if op.name in ("hlo.convert", "hlo.copy"):
        return True
    if not op.results[0].has_one_use():
        return False  # it is computed at once
    if op.name in WAITING:
        return True
    if op.name not in ELEMENTWISE or len(op.operands) < 2:
        return False
    size = prod(shape_of(op.results[0]))
    return any(prod(shape_of(root_of(v))) < size for v in op.operands)


def _lies_elsewhere(value: SSAValue) -> bool:
    """Return whether a view moves elements."""
    return isinstance(value.owner, Operation) and sees(value.owner)


def _in_block(op: Operation, block: Block) -> Operation:
    """Return the op of a block that is or contains an op."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op
