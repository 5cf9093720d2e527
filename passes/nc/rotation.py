"""Rotate a loop: the beginning of an iteration moves to the end of the previous one.

Engines run in order, so nothing of the next iteration starts before the last instruction of the
current one on its engine. The work before an iteration needs its weights (the normalisation at the
start of a layer) can move to the end of the previous iteration. The schedule then overlaps it with
the products that complete its operands. For iteration 0 this work is done before the loop, and the
last iteration, which is peeled (peel.py), omits it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.dependence import Predecessors, Shared, dependences
from neuronir.passes.nc.listing import LOOP, Buffer, Listing, Node
from neuronir.passes.nc.liveness import stream_buffers
from neuronir.passes.nc.peel import AHEAD
from neuronir.passes.nc.rewrite import Linear, copy_with, hoist_buffers
from neuronir.passes.nc.unroll import copy_round


@dataclass(slots=True)
class Rotation:
    """The changes to a loop: its own instructions and their copies, hoisted buffers, and its
    prologue.
    """

    loop: scf.ForOp
    originals: list[InstructionOp]
    copies: list[InstructionOp]
    buffers: list[AllocOp]
    first: list[Operation]

    def undo(self) -> None:
        """Restore the loop."""
        for op in [*self.copies, *reversed(self.first)]:
            op.detach()
            op.erase()
        for op in self.buffers:
            op.detach()
        block = self.loop.body.block
        assert block.first_op is not None
        block.insert_ops_before([*self.buffers, *self.originals], block.first_op)
        hoist_buffers(block)

    def keep(self) -> None:
        """Discard the record of the original loop."""
        for op in self.originals:
            op.erase()


def rotate_loop(listing: Listing, loop: Node, chosen: Sequence[Node]) -> Rotation:
    """Move the instructions `chosen` of a straight-line loop to the end of the previous iteration.

    The trip count does not change: the last iteration still has to be peeled. The listing is stale
    afterwards.
    """
    op = loop.op
    assert isinstance(op, scf.ForOp)
    block, outside = op.body.block, op.parent
    assert outside is not None and block.last_op is not None
    originals = [n.op for n in chosen if isinstance(n.op, InstructionOp)]
    mine = {n.index for n in chosen}
    inside = {a.buffer for n in chosen for a in n.accesses}
    shared = inside & {a.buffer for n in loop.body if n.index not in mine for a in n.accesses}
    own: list[AllocOp] = []
    common: list[AllocOp] = []
    for key in sorted(inside):
        alloc = listing.buffers[key].op
        if listing.buffers[key].loop == loop.loop and isinstance(alloc, AllocOp):
            (common if key in shared else own).append(alloc)
    for alloc in common:
        alloc.detach()
        outside.insert_op_before(alloc, op)
    variable = block.args[0]
    first = copy_round([*own, *originals], {variable: Linear(None, 0, 0)}, {})
    outside.insert_ops_before(first, op)
    copies = [copy_with(o, {}, {variable: Linear(variable, 1, 1)}) for o in originals]
    for copy in copies:
        copy.attributes[AHEAD] = UnitAttr()
    block.insert_ops_before(copies, block.last_op)
    for original in originals:
        original.detach()
    return Rotation(op, originals, copies, common, first)


def beginning(listing: Listing, loop: Node) -> list[Node]:
    """Return the instructions between loop-carried values and the first use of a stream buffer."""
    buffers, body = listing.buffers, loop.body
    shared: Shared = {LOOP + loop.loop: (0, 0)}
    nodes = _numbered(body)
    found = dependences(nodes, buffers, listing.bounds, placed=False, shared=shared)
    streams = set(stream_buffers(body, buffers))
    barred = [_barred(node, streams) for node in body]
    while True:
        chosen = _lead(body, buffers, loop.loop, found, barred)
        banks = {a.buffer for i in chosen for a in body[i].accesses if _is_bank(buffers[a.buffer])}
        split = {
            a.buffer
            for i, node in enumerate(body)
            if i not in chosen
            for a in node.accesses
            if a.buffer in banks
        }
        if not split:
            return [body[i] for i in sorted(chosen)]
        for i in chosen:  # a bank is not kept from one iteration to the next
            barred[i] = barred[i] or any(a.buffer in split for a in body[i].accesses)


def _numbered(body: Sequence[Node]) -> list[Node]:
    return [Node(i, n.op, n.record, [a.of(i) for a in n.accesses]) for i, n in enumerate(body)]


def _is_bank(buffer: Buffer) -> bool:
    return buffer.space is Space.PSUM


def _barred(node: Node, streams: set[int]) -> bool:
    """Return whether an instruction must stay in its iteration: it uses the weight stream."""
    return bool(node.op.results) or any(a.buffer in streams for a in node.accesses)


def _lead(
    body: Sequence[Node],
    buffers: Sequence[Buffer],
    number: int,
    found: Predecessors,
    barred: Sequence[bool],
) -> set[int]:
    """Return the instructions that read carried values and nothing barred, and those they need."""
    written = {
        a.buffer
        for n in body
        for a in n.accesses
        if a.write and buffers[a.buffer].loop != number and not _is_bank(buffers[a.buffer])
    }
    free: list[bool] = []
    wanted: list[bool] = []
    for i, node in enumerate(body):
        free.append(not barred[i] and all(free[j] for j in found[i]))
        carried = any(not a.write and a.buffer in written for a in node.accesses)
        wanted.append(free[i] and (carried or any(wanted[j] for j in found[i])))
    for i in reversed(range(len(body))):
        if wanted[i]:
            for j in found[i]:
                wanted[j] = True
    return {i for i, yes in enumerate(wanted) if yes}
