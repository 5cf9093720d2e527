"""Let PSUM buffers share banks if their contents are never needed at the same time."""

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.nc.structure import AllocOp, FuncOp
from neuronir.dialects.support.walking import walk


@dataclass(slots=True)
class _Content:
    """The contents of a buffer between its first write and its last read: positions, type and
    extent.
    """

    block: Block | None
    first: int
    last: int
    dtype: str
    low: int
    high: int
    read: bool = False


_Contents = dict[SSAValue, list[_Content] | None]


def share_banks(func: FuncOp, most: int, gone: Collection[InstructionOp]) -> bool:
    """Merge PSUM buffers of a function until there are at most `most`.

    Buffers of one type, allocated in one block, are merged. Instructions in `gone` are about to
    leave PSUM and do not count. Returns whether that succeeded; the function is unchanged if not.
    """
    allocs = [op for op in walk(func) if isinstance(op, AllocOp)]
    allocs = [op for op in allocs if space_of(op.buffer) is Space.PSUM]
    if len(allocs) <= most:
        return True
    known = _contents(func, gone)
    into: dict[AllocOp, AllocOp] = {}
    kept: list[AllocOp] = []
    for op in allocs:
        mine = known.setdefault(op.buffer, [])
        other = None
        if mine is not None and len(allocs) - len(into) > most:
            other = next((k for k in reversed(kept) if _may_share(op, k, known)), None)
        if other is None:
            kept.append(op)
            continue
        into[op] = other
        merged = known[other.buffer]
        assert mine is not None and merged is not None
        merged += mine
    if len(kept) > most:
        return False
    for op, other in into.items():
        op.buffer.replace_all_uses_with(other.buffer)
        op.detach()
        op.erase()
    return True


def _may_share(a: AllocOp, b: AllocOp, known: _Contents) -> bool:
    mine, its = known.get(a.buffer), known.get(b.buffer)
    if mine is None or its is None or a.parent is not b.parent:
        return False
    if a.buffer.type != b.buffer.type:
        return False
    return not any(x.first <= y.last and y.first <= x.last for x in mine for y in its)


def _contents(func: FuncOp, gone: Collection[InstructionOp]) -> _Contents:
    """Return the contents of each PSUM buffer; None if they are not of one block each."""
    out: _Contents = {}
    for place, op in enumerate(walk(func)):
        if not isinstance(op, InstructionOp) or op in gone:
            continue
        views = list(enumerate(op.views()))
        for role, view in reversed(views):  # operands are read before results are written
            if view is None or space_of(view.buffer) is not Space.PSUM:
                continue
            known = out.setdefault(view.buffer, [])
            write = role < len(op.spec.dst)
            if known is not None and not _add(known, op, place, view, write):
                out[view.buffer] = None
    return out


def _add(known: list[_Content], op: InstructionOp, place: int, view: View, write: bool) -> bool:
    """Record an access; return False if the contents of the buffer cannot be followed."""
    ends = [stride * (size - 1) for stride, size in view.free]
    if view.indices or any(e < 0 for e in ends):
        return False
    low, high = view.offset, view.offset + sum(ends) + 1
    last = known[-1] if known else None
    if write and (last is None or last.read):
        known.append(_Content(op.parent, place, place, _name(view), low, high))
        return not _accumulates(op)
    if last is None or last.block is not op.parent or last.dtype != _name(view):
        return False
    if write:
        last.low, last.high = min(last.low, low), max(last.high, high)
    elif low < last.low or high > last.high:
        return False
    last.read = last.read or not write
    last.last = place
    return True


def _accumulates(op: InstructionOp) -> bool:
    return op.opcode() == "matmul" and bool(op.param_values()["accumulate"])


def _name(view: View) -> str:
    assert isinstance(view.buffer.type, MemRefType)
    return view.dtype or str(view.buffer.type.element_type)
