"""Loops that are rotated: what begins a round is done at the end of the round before.

Engines run in order, so that nothing of the next round begins before the last instruction of this
one on its engine. What a round does before it needs its weights (the normalisation that begins a
layer) can stand at the end of the round before, and the schedule puts it beside the products that
make the rest of what it reads. Round 0 has it done before the loop, and the last round, which is
written out behind the loop (prefetch.py), leaves it away.
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
from neuronir.passes.nc.rewrite import Linear, copy_with, hoist_buffers
from neuronir.passes.nc.unroll import copy_round

AHEAD = "nc.ahead"
"""Marks instructions of a rotated loop that belong to the next round, until it is written."""


@dataclass(slots=True)
class Rotation:
    """What was done to a loop: its own instructions and their copies, the buffers that lie outside
    of it now, and what stands in front of it."""

    loop: scf.ForOp
    originals: list[InstructionOp]
    copies: list[InstructionOp]
    buffers: list[AllocOp]
    first: list[Operation]

    def undo(self) -> None:
        """Make the loop what it was."""
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
        """Forget what the loop was."""
        for op in self.originals:
            op.erase()


def rotate_loop(listing: Listing, loop: Node) -> Rotation | None:
    """Move what begins the rounds of a loop of straight-line code to the end of the round before;
    None where there is nothing of that kind. The listing is out of date afterwards."""
    chosen = _beginning(listing, loop)
    if not chosen:
        return None
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


def _beginning(listing: Listing, loop: Node) -> list[Node]:
    """The instructions of a round that lead from what the round before hands on to the first use of
    a stream buffer."""
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
        for i in chosen:  # a bank is not kept from one round to the next
            barred[i] = barred[i] or any(a.buffer in split for a in body[i].accesses)


def _numbered(body: Sequence[Node]) -> list[Node]:
    return [Node(i, n.op, n.record, [a.of(i) for a in n.accesses]) for i, n in enumerate(body)]


def _is_bank(buffer: Buffer) -> bool:
    return buffer.space is Space.PSUM


def _barred(node: Node, streams: set[int]) -> bool:
    """Whether an instruction has to stay in its round: it uses the weight stream."""
    return bool(node.op.results) or any(a.buffer in streams for a in node.accesses)


def _lead(
    body: Sequence[Node],
    buffers: Sequence[Buffer],
    number: int,
    found: Predecessors,
    barred: Sequence[bool],
) -> set[int]:
    """The numbers of the instructions that need nothing barred and read what is carried, and of
    those that they need."""
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
