"""Concatenate arrays in HBM by transfers: rolls, and other programs that only move rows."""

from math import gcd, prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.layouts.hbm_slices import DESCRIPTOR, ENOUGH, SHORT
from neuronir.passes.tile.whole import MARK

LARGE = 1 << 17
"""From this number of bytes, a copy in HBM is faster than rows on few partitions."""
MOST_PIECES = 64
"""Limit of transfers of a result."""


def slice_pieces(op: Operation) -> None:
    """Replace slices of a concatenation, if it has no other readers, by those of its operands:

    %c = hlo.concatenate %a, %b            %r = hlo.concatenate %a[5:], %b[:3]
    %r = hlo.slice %c[5:11]         ->
    """
    if op.name != "hlo.concatenate" or op.parent is None:
        return
    users, along = [use.operation for use in op.results[0].uses], integer(op, "dimension")
    if any(u.name != "hlo.slice" or ints(u, "strides")[along] != 1 for u in users):
        return
    operands = tuple(op.operands)
    for part in users:
        build = Emitter(part)
        first, end = (list(ints(part, f"{name}_indices")) for name in ("start", "limit"))
        pieces: list[SSAValue] = []
        at = 0
        for v in op.operands:
            n = shape_of(v)[along]
            low, high = max(first[along] - at, 0), min(end[along] - at, n)
            if low < high:
                starts, limits = list(first), list(end)
                starts[along], limits[along] = low, high
                pieces.append(build.slice(v, starts, limits, ints(part, "strides")))
            at += n
        part.results[0].replace_all_uses_with(build.concatenate(pieces, along))
        erase_dead(part)
    for v in operands:
        if isinstance(v.owner, Operation):
            slice_pieces(v.owner)  # it has slices as readers now


def join_by_transfers(block: Block, partitions: int) -> None:
    """Mark concatenations of slices of arguments that are results, or whose operands do not divide
    over partitions: transfers move their operands.

    Results may have their rows in another order, as windows of an image. Other concatenations are
    put together on the chip, as are those of many short rows.
    """
    for op in block.ops:
        if op.name != "hlo.concatenate" or op.parent is not block:
            continue
        parts = _pieces(op) if _stored(op.results[0]) or _divides_badly(op, partitions) else None
        if parts is None or len(parts) > MOST_PIECES:
            continue
        size = byte_size(element(op.results[0]))
        short = sum(rows for rows, run in parts if run * size < SHORT)
        if short * DESCRIPTOR <= prod(shape_of(op.results[0])) * size:
            _mark(op)


def _stored(value: SSAValue) -> bool:
    """Return whether a value is a result only, possibly with rows in another order."""
    for use in value.uses:
        op = use.operation
        if op.name in ("func.return", "hlo.tuple"):
            continue
        if op.name == "hlo.transpose":
            run, order = byte_size(element(value)), ints(op, "permutation")
            for d in reversed(range(len(order))):
                if order[d] != d:
                    break
                run *= shape_of(value)[d]
            if run < SHORT:
                return False
        elif op.name not in ("hlo.reshape", "hlo.bitcast"):
            return False
        if not _stored(op.results[0]):
            return False
    return True


def _divides_badly(op: Operation, partitions: int) -> bool:
    """Return whether the rows of a large concatenation, which are contiguous in HBM, occupy few
    partitions. If their number is 0, it is unknown.

    A digit on partitions divides each operand. Others of an inner dimension are loaded in short
    rows, or transposed twice.
    """
    along, out = integer(op, "dimension"), shape_of(op.results[0])
    if not partitions or prod(out) * byte_size(element(op.results[0])) < LARGE:
        return False
    common = gcd(*(shape_of(v)[along] for v in op.operands))
    return spread((*out[:along], common), partitions) < ENOUGH


def _pieces(op: Operation) -> list[tuple[int, int]] | None:
    """Return the rows of each operand, and their elements; None if one is computed."""
    along, out = integer(op, "dimension"), shape_of(op.results[0])
    found: list[tuple[int, int]] = []
    for v in op.operands:
        if isinstance(v.owner, Operation) and v.owner.name == "hlo.concatenate":
            inner = _pieces(v.owner) if v.has_one_use() else None
            if inner is None:
                return None
            run = shape_of(v)[along] * prod(out[along + 1 :])
            found += [(n * m // min(m, run), min(m, run)) for n, m in inner]
            continue
        root = v
        while isinstance(root.owner, Operation) and root.owner.name == "hlo.slice":
            if any(n != 1 for n in ints(root.owner, "strides")):
                return None
            root = root.owner.operands[0]
        if not isinstance(root, BlockArgument):
            return None
        run = shape_of(v)[along] * prod(out[along + 1 :])
        found.append((prod(shape_of(v)) // max(1, run), run))
    return found


def _mark(op: Operation) -> None:
    op.attributes[MARK] = UnitAttr()
    for v in op.operands:
        if isinstance(v.owner, Operation) and v.owner.name == "hlo.concatenate":
            _mark(v.owner)
