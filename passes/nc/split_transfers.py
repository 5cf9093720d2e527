"""nc-split-transfers: split large transfers between HBM and SBUF.

A reader waits for the end of a transfer, even for its first row, and a storing transfer waits for
the last result. After splitting, the first readers start when their piece has arrived, and early
results are stored early.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import is_dense
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import dtype_seen, space_of
from neuronir.dialects.nc.structure import AllocOp, FuncOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, require_phase
from neuronir.passes.nc.rewrite import with_views
from neuronir.passes.statistics import record

PIECE = 1 << 18
"""Minimum bytes of a piece: about 1 us at the rate of all DMA engines."""

SCHEDULED = "nc.scheduled"
"""Marks a function that nc-schedule ordered; transfers of other functions are not changed."""

Chosen = Callable[[View, View], bool]
"""Return whether a transfer qualifies, by its target and its source."""

_RUN = 4096
"""Contiguous bytes of a partition are not split below this size: by the cost model
(dialects/nc/dma_cost.py), shorter rows of one queue do not keep all DMA engines busy.
"""


@dataclass(frozen=True)
class NcSplitTransfersPass(ModulePass):
    """Split large transfers between HBM and SBUF into pieces.

    A transfer is split along its outermost dimension and, if that leaves single rows, along the
    next one. In loops only stores are split, because loads are prefetched. The weight stream and
    functions that nc-schedule did not order are not changed. nc-split-loads has split loads of
    values that the program itself wrote; loads of inputs and constants are split here, because
    nc-spill rematerialises only whole loads.
    """

    name = "nc-split-transfers"
    piece: int = field(
        default=PIECE,
        metadata={"help": "smallest size of a piece in bytes; 0: no transfer is split"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the transfers of every function."""
        require_phase(op, self.name, "allocated")
        with bodies_in_place(op):
            for func in functions(op):
                if SCHEDULED in func.attributes:
                    self._block(func.body.block, _any)

    def _block(self, block: Block, chosen: Chosen) -> None:
        for op in ops_of(block):
            if isinstance(op, LoopOp):
                self._block(body_of(op), _stores)
        cut, pieces = split_transfers(block, self.piece, chosen)
        record(self.name, "transfers in pieces", cut)
        record(self.name, "pieces", pieces)


def parts_behind_order(op: Operation, piece: int) -> list[DmaOp]:
    """Return the pieces of an op in nc-split-transfers; empty if it stays whole."""
    around = _around(op)
    if not any(isinstance(o, FuncOp) and SCHEDULED in o.attributes for o in around):
        return []
    return parts_of(op, piece, _stores if in_loop(op) else _any)


def in_loop(op: Operation) -> bool:
    """Return whether an op is inside a loop."""
    return any(isinstance(o, LoopOp) for o in _around(op))


def _around(op: Operation) -> list[Operation]:
    around: list[Operation] = []
    parent = op.parent_op()
    while parent is not None:
        around.append(parent)
        parent = parent.parent_op()
    return around


def _any(target: View, source: View) -> bool:
    return True


def _stores(target: View, source: View) -> bool:
    return space_of(target.buffer) == Space.HBM


def split_transfers(block: Block, piece: int, chosen: Chosen) -> tuple[int, int]:
    """Split qualifying transfers of a block into pieces of at least `piece` bytes.

    Returns the number of split transfers, and of pieces.
    """
    cut = pieces = 0
    for op in list(ops_of(block)):
        parts = parts_of(op, piece, chosen)
        if parts:
            block.insert_ops_before(parts, op)
            op.detach()
            op.erase()
            cut, pieces = cut + 1, pieces + len(parts)
    return cut, pieces


def parts_of(op: Operation, piece: int, chosen: Chosen) -> list[DmaOp]:
    """Return the detached pieces of an op; empty if it stays whole."""
    if not piece or not isinstance(op, DmaOp):
        return []
    ends = _ends(op)
    if not _divisible(*ends) or not chosen(*ends):
        return []
    cut = _pieces(*ends, piece)
    if len(cut) < 2:
        return []
    return [cast(DmaOp, with_views(op, {0: target, 1: source})) for target, source in cut]


def _divisible(target: View, source: View) -> bool:
    """Return whether a transfer may be split.

    Equal rows of both ends must hold the same elements, and no element may be written twice,
    because the order of writes would change.
    """
    if {space_of(target.buffer), space_of(source.buffer)} != {Space.HBM, Space.SBUF}:
        return False
    alloc = target.buffer.owner
    if isinstance(alloc, AllocOp) and alloc.role and alloc.role.data == "stream":
        return False
    return target.partitions == source.partitions and _apart(target)


def _apart(view: View) -> bool:
    """Return whether all elements of a view are known to be at distinct addresses."""
    dims = list(view.free)
    if space_of(view.buffer) == Space.HBM:
        dims.append((view.partition_stride, view.partitions))
    reach = 0
    for stride, size in sorted((abs(stride), size) for stride, size in dims if size > 1):
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def _ends(op: DmaOp) -> tuple[View, View]:
    target, source = op.views()
    return cast(View, target), cast(View, source)


def _pieces(target: View, source: View, piece: int) -> list[tuple[View, View]]:
    """Return both ends of the pieces; one piece if the ends differ in their outermost dimension."""
    whole = [(target, source)]
    if not target.free or not source.free or target.free[0][1] != source.free[0][1]:
        return whole
    rows, inner = target.free[0][1], prod(n for _, n in target.free[1:])
    if rows == 1 and len(target.free) > 1 and len(source.free) > 1:
        return _pieces(_inner(target), _inner(source), piece)
    sizes = [dtype_seen(end, end.buffer).size for end in (target, source)]
    least = -(-piece // (inner * max(sizes) * target.partitions))
    if is_dense(target.free) and is_dense(source.free):
        least = max(least, -(-_RUN // (inner * max(sizes))))
    count = rows // least
    if count < 2:
        return whole
    ends = [rows * i // count for i in range(count + 1)]
    cut = [
        (_rows(target, begin, end), _rows(source, begin, end))
        for begin, end in zip(ends, ends[1:], strict=False)
    ]
    return [part for ends in cut for part in _pieces(*ends, piece)] if count == rows else cut


def _inner(view: View) -> View:
    """Drop the outermost dimension of a view with one row."""
    return replace(view, free=view.free[1:])


def _rows(view: View, begin: int, end: int) -> View:
    """Return rows `begin` to `end` of the outermost free dimension of a view."""
    stride, _ = view.free[0]
    free = ((stride, end - begin), *view.free[1:])
    return replace(view, free=free, offset=view.offset + begin * stride)
