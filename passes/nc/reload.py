"""nc-reload-weights: load weights again if keeping them between distant uses would fill the ring.

Strands of a batch use each weight half a layer apart. The other weights of the layer are loaded in
between, and a ring that kept all of them could not prefetch. If the tensor engine is the bound, DMA
has time to load a weight once for each strand.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.layer_order import is_stream
from neuronir.passes.nc.list_schedule import work_of
from neuronir.passes.nc.listing import (
    RING,
    Buffer,
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import (
    SBUF_HELP,
    deep_lifetimes,
    peak,
    rounded,
    stream_buffers,
    usable_sbuf,
)
from neuronir.passes.nc.rewrite import hoist_buffers
from neuronir.passes.statistics import record

_SHARE = 0.5
"""The fraction of the ring that may be used between two uses of a kept buffer; the rest is for
prefetching.
"""


@dataclass(frozen=True)
class NcReloadWeightsPass(ModulePass):
    """Load a weight again before a distant use, rather than keep it in SBUF until then.

    A use is distant if more than half of the room for the weight stream has been taken by other
    weights since the last use. Each such use, and those after it, read a buffer of their own, which
    a copy of the transfer fills. Nothing changes if DMA would then take longer than the busiest
    engine, or if a loop uses the weights.
    """

    name = "nc-reload-weights"
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add loads in every function that has a weight stream outside loops."""
        require_phase(op, self.name, "virtual")
        machine, kinds = machine_of(op), variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                block = func.body.block
                if not _may_reload(block):
                    continue
                listing = list_function(func, kinds, placed=False)
                if reload_streams(listing, machine, usable_sbuf(machine, self.sbuf)):
                    hoist_buffers(block)


def _may_reload(block: Block) -> bool:
    """Return whether `reload_streams` may find a distant use, which saves reading the function.

    That needs a weight with two readers, and no weight that is loaded here and used in a loop.
    """
    found = False
    for op in block.ops:
        if not isinstance(op, AllocOp) or not is_stream(op) or RING in op.attributes:
            continue
        users = {use.operation for use in op.buffer.uses}
        loaded = any(o.parent is block and o.operands[0] is op.buffer for o in users)
        if loaded and any(o.parent is not block for o in users):
            return False
        found = found or (loaded and len(users) > 2)
    return found


def reload_streams(listing: Listing, machine: Machine, capacity: int) -> int:
    """Add loads, into separate buffers, before distant uses of stream buffers; return their number.

    A use is distant if too much other stream data is used in between. `capacity` is the SBUF bytes
    per partition. Nothing changes if DMA would become the bound, or if loops, which prefetch
    themselves, use stream buffers.
    """
    nodes, buffers = listing.nodes, listing.buffers
    written = stream_buffers(nodes, buffers)
    streams = {key for key in written if buffers[key].ring < 0}
    looped = {key for node in nodes if node.record is None for key in node.touched}
    if not streams or looped & streams:
        return 0
    lives, length = deep_lifetimes(nodes, buffers)
    others = [k for k in lives if buffers[k].space == Space.SBUF and k not in streams]
    ring = capacity - peak(lives, buffers, others, length)[0]
    again = _far_uses(nodes, buffers, written, streams, int(ring * _SHARE))
    if not again or not _has_time(nodes, written, again, machine):
        return 0
    uses_of: dict[int, list[int]] = {key: [] for key in again}
    for place, node in enumerate(nodes):
        for key in {access.buffer for access in node.accesses} & again.keys():
            uses_of[key].append(place)
    for key, places in again.items():
        load, uses = nodes[written[key]].op, uses_of[key]
        for first, end in zip(places, [*places[1:], len(nodes)], strict=True):
            _load_again(buffers[key], load, [nodes[i].op for i in uses if first <= i < end])
    loads = sum(len(places) for places in again.values())
    record(NcReloadWeightsPass.name, "weights loaded again", loads)
    return loads


def _far_uses(
    nodes: Sequence[Node],
    buffers: Sequence[Buffer],
    written: dict[int, int],
    streams: set[int],
    most: int,
) -> dict[int, list[int]]:
    """Return, by buffer, the positions of uses before which more than `most` stream bytes were
    used.
    """
    recent: OrderedDict[int, int] = OrderedDict()  # by last use: bytes
    found: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        for key in dict.fromkeys(access.buffer for access in node.accesses):
            if key not in streams or written[key] == place:
                continue
            if key in recent:
                since = 0
                for other in reversed(recent):
                    if other == key:
                        break
                    since += recent[other]
                if since > most:
                    found.setdefault(key, []).append(place)
            recent[key] = rounded(buffers[key].size)
            recent.move_to_end(key)
    return found


def _has_time(
    nodes: Sequence[Node],
    written: dict[int, int],
    again: dict[int, list[int]],
    machine: Machine,
) -> bool:
    """Return whether DMA takes less time than the busiest engine, including these loads."""
    dma = 0.0
    busy = dict.fromkeys((Engine.PE, Engine.ACT, Engine.DVE, Engine.POOL), 0.0)
    works = {i: work_of(n.record, machine) for i, n in enumerate(nodes) if n.record is not None}
    for work in works.values():
        dma += work.dma
        if work.engine in busy:
            busy[Engine(work.engine)] += work.issue
    dma += sum(works[written[key]].dma * len(places) for key, places in again.items())
    return dma <= max(busy.values())


def _load_again(buffer: Buffer, load: Operation, users: Sequence[Operation]) -> None:
    """Let `users`, in order, read a copy of a buffer that is loaded before the first of them."""
    assert isinstance(buffer.op, AllocOp) and isinstance(load, InstructionOp)
    block = users[0].parent
    assert block is not None
    alloc = buffer.op.clone()
    copy = load.clone({buffer.value: alloc.buffer})
    alloc.location = copy.location = load.location
    block.insert_ops_before([alloc, copy], users[0])
    for op in users:
        for i, operand in enumerate(op.operands):
            if operand is buffer.value:
                op.operands[i] = alloc.buffer
