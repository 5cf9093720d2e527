"""How much of SBUF the body of a loop takes in program order.

What does not fit is put into HBM for a while only outside of loops (nc-spill), so layers
of which one does not fit have to be written out.
"""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.liveness import rounded


def body_bytes(ops: Sequence[Operation]) -> int:
    """The most bytes per partition that are live at once in the ops of a loop's body.

    What lies outside and is used in it counts all the time. A part of the weight stream counts from
    its first use on: it is loaded when there is room.
    """
    own = {op.buffer: op for op in ops if isinstance(op, AllocOp)}
    lives: dict[SSAValue, list[int]] = {}
    inner = [0] * len(ops)
    outside: set[SSAValue] = set()
    for place, op in enumerate(ops):
        if isinstance(op, scf.ForOp):
            inner[place] = _inside(op)
        for buffer in _touched(op):
            if buffer in own:
                lives.setdefault(buffer, [place, place])[1] = place
            elif not _within(buffer, op):
                outside.add(buffer)
    change = [0] * (len(ops) + 1)
    for buffer, (first, last) in lives.items():
        change[first] += _size(buffer)
        change[last + 1] -= _size(buffer)
    most = now = 0
    for place in range(len(ops)):
        now += change[place]
        most = max(most, now + inner[place])
    return most + sum(_size(b) for b in outside)


def _inside(loop: scf.ForOp) -> int:
    """What a loop takes of its own."""
    ops = list(loop.body.block.ops)
    around = {b for op in ops for b in _touched(op) if not _within(b, loop)}
    return body_bytes(ops) - sum(_size(b) for b in around)


def _touched(op: Operation) -> list[SSAValue]:
    """SBUF buffers that an op, or one inside of it, uses; not the part of the stream it loads."""
    found: dict[SSAValue, None] = {}
    for inner in walk(op):
        if isinstance(inner, InstructionOp):
            for value in inner.operands[: len(inner.buffers)]:
                if space_of(value) is Space.SBUF:
                    found[value] = None
    if isinstance(op, DmaOp):
        target = op.operands[0]
        if isinstance(target.owner, AllocOp) and target.owner.role is not None:
            found.pop(target, None)
    return list(found)


def _within(buffer: SSAValue, op: Operation) -> bool:
    """Whether a buffer is allocated inside of an op."""
    parent: Operation | None = buffer.owner if isinstance(buffer.owner, Operation) else None
    while parent is not None and parent is not op:
        parent = parent.parent_op()
    return parent is op


def _size(buffer: SSAValue) -> int:
    type_ = buffer.type
    assert isinstance(type_, MemRefType)
    return rounded(partition_bytes(type_))
