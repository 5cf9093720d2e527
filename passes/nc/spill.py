"""Putting SBUF buffers into HBM while nobody uses them, the one with the furthest next use first.

A buffer that one DMA has filled from a constant or an input, or one instruction that reads nothing
(a memset, an iota), is not stored: it is filled again (rematerialised). Stores and reloads carry
the attribute nc.spill.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.attributes import HBM
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.dve import MemsetOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp, View, build
from neuronir.dialects.nc.pool import IotaOp
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.passes.nc.engines import NAMES, QueueAllotter
from neuronir.passes.nc.listing import Buffer, Listing, Node, variables
from neuronir.passes.nc.liveness import rounded, stream_buffers
from neuronir.passes.nc.rewrite import copy_with
from neuronir.passes.statistics import record

SPILL = "nc.spill"

# A reload is put this many places before the first use, so that it is there in time.
_AHEAD = 12


class _Extent(NamedTuple):
    """What all writes up to a place span, and their bytes; of a write whose place depends on a
    loop's round, all that it spans."""

    place: int
    low: int
    high: int
    stop: int
    written: int


@dataclass(slots=True)
class _Use:
    """How a buffer is used: places, and those among them where it is written."""

    places: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    extents: list[_Extent] = field(default_factory=list)
    """What the writes up to each place span."""

    def note(self, place: int, low: int, high: int, stop: int, written: int) -> None:
        """A write of so many bytes between `low` and `high` of the partitions up to `stop`."""
        if self.extents:
            last = self.extents[-1]
            low, high, stop = min(low, last.low), max(high, last.high), max(stop, last.stop)
            written += last.written
        self.extents.append(_Extent(place, low, high, stop, written))

    def whole(self, place: int) -> bool:
        """False where the writes up to `place` leave gaps, which a store of the whole would
        read."""
        at = bisect_right(self.extents, place, key=lambda e: e.place)
        if not at:
            return False
        done = self.extents[at - 1]
        return done.written >= (done.high - done.low) * done.stop

    def written_before(self, place: int) -> tuple[int, int, int]:
        """The low byte, high byte and partitions that writes before `place` span."""
        done = self.extents[bisect_left(self.extents, place, key=lambda e: e.place) - 1]
        return done.low, done.high, done.stop

    def next_after(self, place: int) -> int:
        return next((p for p in self.places if p > place), 1 << 62)


def spill(
    listing: Listing, module: ModuleOp, machine: Machine, capacity: int, *, weights: bool
) -> bool:
    """Rewrite a function so that at most `capacity` bytes are live at once; whether anything was
    done. Buffers that one instruction or loop uses together stay together. With `weights` buffers
    of the weight stream may be loaded again too, otherwise the largest two have room kept."""
    order, buffers = listing.nodes, listing.buffers
    streams = {} if weights else stream_buffers(order, buffers)
    room = sum(sorted((rounded(buffers[k].size) for k in streams), reverse=True)[:2])
    uses = _uses(order, buffers, set(streams))
    cuts, taken = _evictions(order, buffers, uses, capacity - room)
    if not cuts:
        return False
    writer = _Writer(listing, module, machine)
    for key, places in sorted(cuts.items()):
        ahead = [_reload_place(p, uses[key], taken, buffers[key], capacity - room) for p in places]
        writer.split(buffers[key], uses[key], places, ahead)
    return True


def _reload_place(begin: int, use: _Use, taken: list[int], buffer: Buffer, capacity: int) -> int:
    """Where the reload before the use at `begin` goes: some places earlier where there is room."""
    size = rounded(buffer.size)
    before = max(p for p in use.places if p < begin)
    place = begin
    while place - 1 > before and begin - place < _AHEAD and taken[place - 1] + size <= capacity:
        place -= 1
        taken[place] += size
    return place


def _uses(order: Sequence[Node], buffers: Sequence[Buffer], streams: set[int]) -> dict[int, _Use]:
    uses: dict[int, _Use] = {}
    for place, node in enumerate(order):
        for access in node.accesses:
            key = access.buffer
            if buffers[key].space != Space.SBUF or key in streams:
                continue
            use = uses.setdefault(key, _Use())
            if not use.places or use.places[-1] != place:
                use.places.append(place)
            if access.write:
                if not use.writes or use.writes[-1] != place:
                    use.writes.append(place)
                spanned = (access.high - access.low) * (access.stop - access.start)
                written = access.pattern.bytes if access.fixed else spanned
                use.note(place, access.low, access.high, access.stop, written)
    return uses


def _evictions(
    order: Sequence[Node], buffers: Sequence[Buffer], uses: dict[int, _Use], capacity: int
) -> tuple[dict[int, list[int]], list[int]]:
    """By buffer, the places of uses before which it has to be loaded again; and bytes by place."""
    taken: list[int] = []
    resident: dict[int, int] = {}  # key -> next use
    total = 0
    cuts: dict[int, list[int]] = {}
    local = {k for k in uses if isinstance(buffers[k].op, AllocOp)}
    for place, node in enumerate(order):
        keys = {a.buffer for a in node.accesses if a.buffer in uses}
        for key in [k for k, following in resident.items() if following == 1 << 62]:
            total -= rounded(buffers[key].size)
            del resident[key]
        for key in sorted(keys):
            if key not in resident:
                total += rounded(buffers[key].size)
                if uses[key].places[0] != place:
                    cuts.setdefault(key, []).append(place)
            resident[key] = uses[key].next_after(place)
        while total > capacity:
            others = [k for k in resident if k not in keys and k in local]
            others.sort(key=lambda k: (-resident[k], -buffers[k].size, k))
            victim = next((k for k in others if uses[k].whole(place)), None)
            if victim is None:
                break
            total -= rounded(buffers[victim].size)
            del resident[victim]
        taken.append(total)
    return cuts, taken


class _Writer:
    """Splits buffers into copies with a store and a reload between them."""

    def __init__(self, listing: Listing, module: ModuleOp, machine: Machine) -> None:
        self.order = listing.nodes
        self.buffers = listing.buffers
        self.block = listing.func.body.block
        self.module = module
        self.queues = QueueAllotter(machine, variables(module))
        self.sources = self._sources()

    def _sources(self) -> dict[int, InstructionOp]:
        """The instructions that fill buffers which nothing else writes, from constants or inputs or
        from nothing: doing them again gives the same."""
        writers: dict[int, list[Operation]] = {}
        for node in self.order:
            for access in node.accesses:
                if access.write:
                    writers.setdefault(access.buffer, []).append(node.op)
        out: dict[int, InstructionOp] = {}
        for node in self.order:
            if not isinstance(node.op, DmaOp | MemsetOp | IotaOp):
                continue
            key = next(a.buffer for a in node.accesses if a.write)
            kinds = {self.buffers[a.buffer].role for a in node.accesses if not a.write}
            if len(writers[key]) == 1 and kinds <= {"constant", "input"}:
                if all(self.buffers[a.buffer].space == Space.HBM for a in node.accesses[1:]):
                    out[key] = node.op
        return out

    def split(self, buffer: Buffer, use: _Use, cuts: Sequence[int], reloads: Sequence[int]) -> None:
        """A new copy of `buffer` from each of the places `cuts` on, loaded at `reloads`."""
        source = self.sources.get(buffer.key)
        variable = None if source is not None else self._variable(buffer)
        current = buffer.value
        stored = -1  # the place up to which the variable holds what was written
        ends = [*cuts[1:], len(self.order)]
        for begin, end, at in zip(cuts, ends, reloads, strict=True):
            before = max(p for p in use.places if p < begin)
            written = max((p for p in use.writes if p < begin), default=-1)
            if variable is not None and written > stored:
                extent = use.written_before(begin)
                store = self._transfer(buffer, extent, variable, current, store=True)
                self.block.insert_op_after(store, self.order[before].op)
                stored = written
                record("nc-allocate", "spill stores")
                record("nc-allocate", "spill bytes stored", (extent[1] - extent[0]) * extent[2])
            fresh = self._alloc(buffer)
            if source is not None:
                reload: InstructionOp = copy_with(source, {buffer.value: fresh}, {})
                record("nc-allocate", "buffers filled again")
            else:
                extent = use.written_before(begin)
                far = cast(SSAValue, variable)
                reload = self._transfer(buffer, extent, far, fresh, store=False)
                record("nc-allocate", "spill reloads")
                record("nc-allocate", "spill bytes loaded", (extent[1] - extent[0]) * extent[2])
            reload.attributes[SPILL] = UnitAttr()
            self.block.insert_op_before(reload, self.order[at].op)
            for place in use.places:
                if begin <= place < end:
                    _replace(self.order[place].op, current, buffer.value, fresh)
            current = fresh

    def _variable(self, buffer: Buffer) -> SSAValue:
        type_ = cast(MemRefType, buffer.value.type)
        known = variables(self.module)
        number = len(known)
        while f"spill{number}" in known:
            number += 1
        shape = (buffer.partitions, *type_.get_shape()[1:])
        op = VariableOp.make(
            f"spill{number}", "spill", MemRefType(type_.element_type, shape, memory_space=HBM)
        )
        first = self.module.body.block.first_op
        assert first is not None  # the module holds the function at least
        self.module.body.block.insert_op_before(op, first)
        self.queues.variables[op.sym_name.data] = op
        address = AddressOfOp.make(op)
        top = self.block.first_op
        assert top is not None
        self.block.insert_op_before(address, top)
        return address.buffer

    def _alloc(self, buffer: Buffer) -> SSAValue:
        op = AllocOp.make(cast(MemRefType, buffer.value.type))
        top = self.block.first_op
        assert top is not None
        self.block.insert_op_before(op, top)
        return op.buffer

    def _transfer(
        self,
        buffer: Buffer,
        written: tuple[int, int, int],
        variable: SSAValue,
        local: SSAValue,
        *,
        store: bool,
    ) -> InstructionOp:
        """Between the part of a buffer that is written so far and its variable."""
        type_ = cast(MemRefType, buffer.value.type)
        pitch = 1
        for extent in type_.get_shape()[1:]:
            pitch *= extent
        size = buffer.size // pitch
        low, high, stop = written
        first, count = low // size, -(-high // size) - low // size
        near = View(local, 0, stop, ((1, count),), first)
        far = View(variable, 0, stop, ((1, count),), first, (), pitch)
        op = build(DmaOp, [far if store else near], [near if store else far])
        op.properties["engine"] = NAMES[self.queues.queue(op)]
        op.attributes[SPILL] = UnitAttr()
        return op


def _replace(op: Operation, current: SSAValue, original: SSAValue, fresh: SSAValue) -> None:
    for inner in op.walk():
        for i, operand in enumerate(inner.operands):
            if operand is current or operand is original:
                inner.operands[i] = fresh
