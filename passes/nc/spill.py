"""nc-spill: spill SBUF buffers to HBM, the one with the furthest next use first.

A buffer is rematerialised instead of stored if a single DMA filled it from a constant or an input,
or a single instruction without operands (a memset, an iota). If the buffer was not read before, it
is filled only then. Stores and reloads have the attribute nc.spill.
"""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp, FuncOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import (
    Listing,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import rounded, stream_buffers, usable_sbuf
from neuronir.passes.nc.place_sbuf import Room, too_full
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.passes.nc.spill_pages import Planner
from neuronir.passes.nc.spill_sources import find_grains, find_sources
from neuronir.passes.nc.spill_writer import Writer
from neuronir.passes.statistics import record

_SHARES = (1.0, 0.95, 0.85, 0.7, 0.55)
"""The fraction of the capacity that may be live after spilling: less if packing leaves gaps."""


@dataclass(frozen=True)
class NcSpillPass(ModulePass):
    """Spill or rematerialise SBUF buffers until nc-allocate can place them all.

    A function whose buffers fit is not changed. Otherwise the pass reduces the live buffers until
    packing succeeds.
    """

    name = "nc-spill"
    sbuf: int = field(
        default=0, metadata={"help": "bytes per partition to use; 0: those of the machine"}
    )
    rematerialise: bool = field(
        default=True,
        metadata={
            "help": (
                "recompute values that come from a constant, an input, a memset or an "
                "iota instead of storing them; if nothing read them before, only the "
                "later fill remains"
            )
        },
    )
    parts: bool = field(
        default=True,
        metadata={
            "help": ("spill parts of buffers that are used separately if that moves fewer bytes")
        },
    )
    search: int = field(
        default=1_000_000, metadata={"help": "effort of the packing search, as for nc-allocate"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Make every function fit; raises NCC_EOOM002 if spilling is not enough."""
        require_phase(op, self.name, "ordered")
        machine = machine_of(op)
        room = Room(usable_sbuf(machine, self.sbuf), search=self.search)
        with bodies_in_place(op):
            for func in functions(op):
                if _bytes_apart(func) > room.capacity:
                    self._fit(op, func, machine, room)

    def _fit(self, module: ModuleOp, func: FuncOp, machine: Machine, room: Room) -> None:
        """Spill more and more of a function until it fits."""
        listing = list_function(func, variables(module), placed=False)
        error = first = too_full(listing.nodes, listing.buffers, room, machine)
        for attempt, share in enumerate(_SHARES):
            if error is None:
                return
            most = int(room.capacity * share)
            done = self._spill(listing, module, machine, most, weights=attempt > 0)
            if not done and attempt:
                break
            record(self.name, "iterations")
            listing = list_function(func, variables(module), placed=False)
            error = too_full(listing.nodes, listing.buffers, room, machine)
        if error is not None and first is not None:
            raise first

    def _spill(
        self, listing: Listing, module: ModuleOp, machine: Machine, capacity: int, *, weights: bool
    ) -> bool:
        """Rewrite a function so that at most `capacity` bytes are live; return whether it changed.

        Buffers that one instruction or loop uses together stay together. With `weights`, buffers of
        the weight stream may be loaded again too; otherwise room is reserved for the largest two.
        """
        order, buffers = listing.nodes, listing.buffers
        streams = {} if weights else stream_buffers(order, buffers)
        room = sum(sorted((rounded(buffers[k].size) for k in streams), reverse=True)[:2])
        most = capacity - room
        sources = find_sources(listing) if self.rematerialise else {}
        plan = Planner(order, buffers, set(streams), most, {}).plan()
        if plan.empty:
            return False
        if self.parts:
            grains = find_grains(listing, sources)
            other = Planner(order, buffers, set(streams), most, grains).plan()
            before, after = plan.moved(sources), other.moved(sources)
            if after < before:
                plan = other
            record(self.name, "bytes moved, of whole buffers", before)
            record(
                self.name, "bytes moved, of parts of buffers where that is less", min(before, after)
            )
        Writer(listing, module, machine, sources).write(plan, most)
        mark_reuse(listing.func.body.block)
        return True


def _bytes_apart(func: FuncOp) -> int:
    """Return the bytes per partition of the SBUF buffers of a function without sharing."""
    allocs = (op for op in walk(func) if isinstance(op, AllocOp))
    local = (op for op in allocs if space_of(op.buffer) == Space.SBUF)
    return sum(rounded(partition_bytes(op.buffer.type)) for op in local)
