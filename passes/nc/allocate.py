"""nc-allocate: addresses of buffers in SBUF and PSUM and of variables in HBM."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.placement import place_variables, variable_bytes
from neuronir.dialects.nc.structure import AllocOp, FuncOp, VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.allocate_report import report_banks, report_packing, report_ring
from neuronir.passes.nc.aside import read_by_transfers, step_aside
from neuronir.passes.nc.banks import allocate_banks
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.early import early_layouts, estimate_ns
from neuronir.passes.nc.listing import (
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
    Life,
    deep_lifetimes,
    fixed_in_ring,
    lifetimes,
    peak,
    rounded,
    stream_buffers,
    usable_sbuf,
)
from neuronir.passes.nc.memory_map import out_of_memory
from neuronir.passes.nc.pack import Item, Packing, Work, liveness_bound, pack
from neuronir.passes.nc.rewrite import write_order
from neuronir.passes.nc.spill import spill
from neuronir.passes.nc.streams import Slot, place_streams
from neuronir.passes.statistics import record

# For how many places after its last use a buffer is kept where there is room: whoever takes its
# bytes then need not wait for that use to end.
_SLACKS = (96, 48, 24, 12, 6, 3, 0)

# The same where early buffers lie in the ring.
_EARLY_SLACK = 24

# Buffers take much of the ring's room where they reach higher than one in so many bytes.
_HIGH = 4


# Of the capacity, how much may be live at once after spilling: less where packing leaves gaps.
_SPILL_SHARES = (1.0, 0.95, 0.85, 0.7, 0.55)


# Stream buffers that may be kept out of the ring one by one; with more there is no ring at all.
_OUTSIDE_RING = 8


@dataclass(frozen=True)
class Room:
    """Bytes of each partition: of SBUF in all, and of the ring of the weight stream at most; and
    how much may be searched for a packing."""

    capacity: int
    ring: int
    search: Work


class SbufFull(Exception):
    """The buffers do not fit as they are; `error` is what the user is told if nothing helps."""

    def __init__(self, error: NeuronError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True)
class NcAllocate(ModulePass):
    """Give every buffer and variable an address.

    `sbuf`: bytes per partition to use, in place of the machine's. `spill`: whether buffers may be
    put into HBM for a while where SBUF is too small. `search`: how long to search for a packing
    where putting down buffers one by one leaves gaps that matter, in steps times buffers; 0 not to.
    `rotate-banks`: whether buffers of PSUM take the banks in turn, so that PE runs ahead of those
    who read its results; else the first one that is empty. `ring`: bytes per partition that the
    ring of the weight stream may take, 0 for all that is left: it bounds how far weights are loaded
    ahead.
    """

    name = "nc-allocate"
    sbuf: int = 0
    spill: bool = True
    search: int = 1_000_000
    rotate_banks: bool = True
    ring: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Allocate the buffers of every function, and the variables."""
        require_phase(op, self.name, "ordered")
        machine = machine_of(op)
        capacity = usable_sbuf(machine, self.sbuf)
        room = Room(capacity, self.ring or capacity, Work(self.search))
        with bodies_in_place(op):
            for func in functions(op):
                self._allocate(op, func, machine, room)
        kinds = variables(op)
        set_addresses(list(kinds.values()), machine)
        op.attributes["neuronir.phase"] = StringAttr("allocated")

    def _allocate(self, module: ModuleOp, func: FuncOp, machine: Machine, room: Room) -> None:
        """Allocate a function; where it does not fit, spill more and more of it."""
        error: NeuronError | None = None
        for attempt, share in enumerate((1.0, *_SPILL_SHARES)):
            kinds = variables(module)
            listing = list_function(func, kinds, placed=False)
            if error is not None:
                most = int(room.capacity * share)
                done = self.spill and spill(listing, module, machine, most, weights=attempt > 1)
                if not self.spill or (not done and attempt > 1):
                    break
                listing = list_function(func, variables(module), placed=False)
            try:
                order = allocate_function(listing, machine, room, self.rotate_banks)
            except SbufFull as full:
                error = error or full.error
                continue
            write_order(func.body.block, order)
            return
        if error is not None:
            raise error


def allocate_function(
    listing: Listing, machine: Machine, room: Room, rotate_banks: bool
) -> list[Node]:
    """Set the addresses of the buffers of a function; the order with its stream placed anew."""
    buffers = listing.buffers
    order, sbuf = allocate_sbuf(listing.nodes, buffers, room, machine)
    lives, _ = deep_lifetimes(order, buffers)
    items = [
        Item(k, buffers[k].size, life.first, life.last)
        for k, life in lives.items()
        if buffers[k].space == Space.PSUM
    ]
    psum = allocate_banks(items, machine, rotate_banks)
    if isinstance(psum, int):
        place = lives[psum].first
        keys = [i.key for i in items if i.first <= place <= i.last]
        raise out_of_memory(
            Space.PSUM,
            sum(-(-buffers[k].size // machine.psum_bank_bytes) for k in keys)
            * machine.psum_bank_bytes,
            machine.psum_partition_bytes,
            place,
            order,
            buffers,
            lives,
        )
    report_banks(listing, order, items, psum, machine)
    addresses = {**sbuf, **psum}
    for buffer in buffers:
        if isinstance(buffer.op, AllocOp):
            address = addresses.get(buffer.key, 0)  # 0 where nothing ever touches it
            buffer.op.properties["address"] = IntegerAttr(address, i64)
    return order


def allocate_sbuf(
    order: Sequence[Node],
    buffers: Sequence[Buffer],
    room: Room,
    machine: Machine,
) -> tuple[list[Node], dict[int, int]]:
    """Addresses of the SBUF buffers: the stream in a ring above everything else but early buffers.

    Stream buffers for which no ring has room are allocated as the others are, at the place in the
    order that they have.
    """
    streams = stream_buffers(order, buffers)
    fixed = fixed_in_ring(buffers)
    kept: set[int] = set()
    while True:
        ring = _with_ring(order, buffers, room, streams, frozenset(kept), machine)
        if isinstance(ring, tuple):
            return ring
        if ring < 0 and kept >= {*streams, *fixed}:
            break
        kept.update([*streams, *fixed] if ring < 0 or len(kept) >= _OUTSIDE_RING else [ring])
    lives, length = deep_lifetimes(order, buffers)
    keys = [k for k in lives if buffers[k].space == Space.SBUF]
    required, place = peak(lives, buffers, keys, length)
    packing = pack(_items(lives, buffers, keys, 0, length), room.capacity)
    needed = max(required, packing.height)
    raise SbufFull(out_of_memory(Space.SBUF, needed, room.capacity, place, order, buffers, lives))


def _with_ring(
    order: Sequence[Node],
    buffers: Sequence[Buffer],
    room: Room,
    streams: dict[int, int],
    kept: frozenset[int],
    machine: Machine,
) -> tuple[list[Node], dict[int, int]] | int:
    """The allocation with all stream buffers but `kept` in a ring.

    Where that does not fit, the key of the stream buffer that is most in the way, -1 for none.
    """
    capacity = room.capacity
    ringed = {k: p for k, p in streams.items() if k not in kept}
    moved = {order[p].index for p in ringed.values()}
    rest = [n for n in order if n.index not in moved]
    lives, length = deep_lifetimes(rest, buffers)
    fixed = {k: end for k, (_, end) in fixed_in_ring(buffers).items() if k not in kept}
    keys = [
        k for k in lives if buffers[k].space == Space.SBUF and k not in ringed and k not in fixed
    ]
    total = sum(rounded(buffers[k].size) for k in ringed)
    wanted = max([min(total, capacity // 2), *fixed.values()])
    # What lives only after the loops that have places in the ring may lie there too.
    end = max((lives[k].last for k in fixed), default=length)
    late = [k for k in keys if lives[k].first > end]
    keys = [k for k in keys if lives[k].first <= end]
    packing: Packing | None = None
    items: list[Item] = []
    for slack in _SLACKS:
        items = _items(lives, buffers, keys, slack, length)
        bound = peak({i.key: Life(i.first, i.last) for i in items}, buffers, keys, length)[0]
        if bound + wanted > capacity and slack:
            continue
        packing = pack(items, max(bound, capacity - wanted), work=None if slack else room.search)
        if packing.height + wanted <= capacity or not slack:
            break
    if packing is None or packing.height > capacity:
        return -1
    step_aside(packing, items, lives, read_by_transfers(rest, buffers))
    after: list[Slot] = []
    if late:
        kept_free = sum(sorted((rounded(buffers[k].size) for k in ringed), reverse=True)[:2])
        placed = [(i, packing.offsets[i.key]) for i in items if i.last > end]
        others = pack(_items(lives, buffers, late, 0, length), 0, placed=placed)
        if others.height + kept_free > capacity:
            return -1
        packing.offsets.update(others.offsets)
        uses = lifetimes(rest, buffers)
        for k, offset in others.offsets.items():
            begin = offset - packing.height
            slot = Slot(begin, begin + rounded(buffers[k].size), uses[k].first, uses[k].last, k)
            after.append(slot)
    least = liveness_bound(_items(lives, buffers, keys, 0, length))
    apart = sum(i.size for i in items)
    if not ringed and not fixed:
        report_packing(packing, least, apart)
        return list(order), packing.offsets
    most = max([room.ring, *fixed.values()])
    ring = place_streams(order, buffers, min(capacity - packing.height, most), kept, after)
    if isinstance(ring, int):
        return ring
    base, offsets = packing.height, packing.offsets
    straight = not fixed and all(n.record is not None for n in rest)
    if straight and total > capacity - base and base * _HIGH > capacity:
        best = estimate_ns(ring.order, buffers, {*ringed}, machine)
        items = _items(lives, buffers, keys, _EARLY_SLACK, length)
        for layout in early_layouts(items, lives, length, capacity):
            there = min(capacity - layout.base, most)
            other = place_streams(order, buffers, there, kept, layout.taken)
            if isinstance(other, int):
                continue
            time = estimate_ns(other.order, buffers, {*ringed}, machine)
            if time < best:
                best, ring, base, offsets = time, other, layout.base, layout.offsets
    report_packing(packing, least, apart)
    record("nc-allocate", "ring bytes per partition", min(total, capacity - base, most))
    report_ring(ring.order, buffers, ringed, machine)
    return ring.order, {**offsets, **{k: base + o for k, o in ring.offsets.items()}}


def _items(
    lives: dict[int, Life], buffers: Sequence[Buffer], keys: Sequence[int], slack: int, end: int
) -> list[Item]:
    return [
        Item(k, rounded(buffers[k].size), lives[k].first, min(lives[k].last + slack, end))
        for k in keys
    ]


def set_addresses(ops: Sequence[VariableOp], machine: Machine) -> None:
    """Give the variables addresses in HBM, one after the other."""
    found = place_variables(ops)
    for op in ops:
        op.properties["address"] = IntegerAttr(found[op.sym_name.data], i64)
    end = max((found[op.sym_name.data] + variable_bytes(op) for op in ops), default=0)
    if end > machine.hbm_bytes:
        own = [op for op in ops if op.members is None]
        largest = sorted(own, key=lambda v: -variable_bytes(v))[:8]
        lines = [
            f"  {variable_bytes(v):>14} bytes  {v.kind.data} @{v.sym_name.data}" for v in largest
        ]
        raise NeuronError(
            "NCC_EOOM002",
            f"device memory is too small: the variables take {end} bytes, {machine.name} has "
            f"{machine.hbm_bytes} ({end - machine.hbm_bytes} too many)",
            excerpt="the largest:\n" + "\n".join(lines),
            help="use a smaller batch or a narrower type, or split the model",
        )
