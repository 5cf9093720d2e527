"""Compute how much of SBUF the body of a loop takes in program order.

nc-spill only works outside of loops, so layers that do not fit must be unrolled.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.liveness import rounded


def body_bytes(ops: Sequence[Operation]) -> int:
    """Return the maximum bytes per partition that are live in the ops of a loop's body.

    Outer buffers that it uses count throughout. A part of the weight stream counts from its first
    use on, because it is loaded when there is room.
    """
    own = {op.buffer: op for op in ops if isinstance(op, AllocOp)}
    lives: dict[SSAValue, list[int]] = {}
    inner = [0] * len(ops)
    outside: set[SSAValue] = set()
    for place, op in enumerate(ops):
        if isinstance(op, LoopOp):
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


def _inside(loop: LoopOp) -> int:
    """Return the bytes per partition that a loop itself allocates."""
    ops = list(body_of(loop).ops)
    around = {b for op in ops for b in _touched(op) if not _within(b, loop)}
    return body_bytes(ops) - sum(_size(b) for b in around)


def _touched(op: Operation) -> list[SSAValue]:
    """Return SBUF buffers that an op, or one inside it, uses, except the stream part that it
    loads.
    """
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
    """Return whether a buffer is allocated inside an op."""
    parent: Operation | None = buffer.owner if isinstance(buffer.owner, Operation) else None
    while parent is not None and parent is not op:
        parent = parent.parent_op()
    return parent is op


def _size(buffer: SSAValue) -> int:
    type_ = buffer.type
    assert isinstance(type_, MemRefType)
    return rounded(partition_bytes(type_))
