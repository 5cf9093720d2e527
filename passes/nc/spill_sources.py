"""Find buffers that can be rematerialised, and buffers that can be spilled in parts."""

from dataclasses import replace
from math import lcm, prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.dve import MemsetOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import is_dense
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.nc.pool import IotaOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.listing import Listing, Node
from neuronir.passes.nc.rewrite import with_views

GRAIN = 8
"""Parts start and end at multiples of this many bytes: the largest element has 8."""


def find_sources(listing: Listing) -> dict[int, Node]:
    """Return the instructions that fill otherwise unwritten buffers from constants, inputs or
    nothing.

    Executing them again gives the same contents.
    """
    buffers = listing.buffers
    writers: dict[int, list[Operation]] = {}
    for node in listing.nodes:
        for access in node.accesses:
            if access.write:
                writers.setdefault(access.buffer, []).append(node.op)
    out: dict[int, Node] = {}
    for node in listing.nodes:
        if not isinstance(node.op, DmaOp | MemsetOp | IotaOp):
            continue
        key = next(a.buffer for a in node.accesses if a.write)
        kinds = {buffers[a.buffer].role for a in node.accesses if not a.write}
        if len(writers[key]) == 1 and kinds <= {"constant", "input"}:
            if all(buffers[a.buffer].space == Space.HBM for a in node.accesses[1:]):
                out[key] = node
    return out


def find_grains(listing: Listing, sources: dict[int, Node]) -> dict[int, tuple[int, int]]:
    """Return the buffers that may be spilled in parts, with the grain and offset of parts.

    Buffers that loops use are excluded and stay whole.
    """
    out = {
        b.key: (GRAIN, 0)
        for b in listing.buffers
        if b.space == Space.SBUF and isinstance(b.op, AllocOp)
    }
    for node in listing.nodes:
        known = [] if node.record is None else [*node.record.dst, *node.record.src]
        for access in node.accesses:
            if node.op.results or not any(access.pattern is p for p in known):
                out.pop(access.buffer, None)
    for key, node in sources.items():
        grain = _grain(node)
        if grain is None:
            out.pop(key, None)
        elif key in out:
            out[key] = grain
    return out


def _grain(source: Node) -> tuple[int, int] | None:
    """Return how a source's bytes can be split along its outermost dimension."""
    op = source.op
    if not isinstance(op, DmaOp | MemsetOp) or source.record is None:
        return None
    pattern = source.record.dst[0]
    assert pattern is not None
    sizes = [n for _, n in pattern.free]
    alike = all([n for _, n in p.free] == sizes for p in source.record.src if p is not None)
    base, size = pattern.address.const, pattern.dtype.size
    if not is_dense(pattern.free) or not alike or pattern.address.terms or base % GRAIN:
        return None
    return lcm(GRAIN, prod(sizes[1:]) * size), base


def fill_again(source: Node, low: int, high: int, buffer: SSAValue, first: int) -> InstructionOp:
    """Copy a source so that it fills bytes `low` to `high` in `buffer`.

    `buffer` starts at byte `first` of the original.
    """
    op = source.op
    assert isinstance(op, InstructionOp) and source.record is not None
    pattern = source.record.dst[0]
    assert pattern is not None
    inner = prod(n for _, n in pattern.free[1:]) * pattern.dtype.size
    before = max(low - pattern.address.const, 0) // inner if inner else 0
    count = min(pattern.free[0][1], -(-(high - pattern.address.const) // inner)) - before
    changed: dict[int, View] = {}
    for role, view in enumerate(op.views()):
        if view is None:
            continue
        if (before, count) != (0, pattern.free[0][1]):
            (stride, _), *rest = view.free
            offset = view.offset + before * stride
            view = replace(view, free=((stride, count), *rest), offset=offset)
        if role == 0:
            view = replace(view, buffer=buffer, offset=view.offset - first // pattern.dtype.size)
        changed[role] = view
    return with_views(op, changed)
