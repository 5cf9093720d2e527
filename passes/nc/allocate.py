"""nc-allocate: assign addresses to SBUF buffers and HBM variables."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.placement import place_variables
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.assign_banks import assign_banks
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import (
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import usable_sbuf
from neuronir.passes.nc.memory_map import verify_hbm
from neuronir.passes.nc.place_hbm import place_hbm
from neuronir.passes.nc.place_sbuf import Room, SbufFull, place_sbuf
from neuronir.passes.nc.rewrite import write_order


@dataclass(frozen=True)
class NcAllocatePass(ModulePass):
    """Assign addresses to SBUF buffers and variables.

    If the variables exceed HBM, scratch arrays that are never live together share bytes, and so do
    spilled values; in a module of several functions, none do. PSUM buffers keep the addresses of
    nc-assign-banks. If a buffer of a function has none, all buffers of the function take the first
    empty bank. If the buffers do not fit, the pass raises NCC_EOOM002, which reports the missing
    bytes (nc-spill makes a program fit).
    """

    name = "nc-allocate"
    sbuf: int = field(
        default=0, metadata={"help": "bytes per partition to use; 0: those of the machine"}
    )
    search: int = field(
        default=1_000_000,
        metadata={
            "help": (
                "effort of the search for a packing if greedy placement leaves gaps, in"
                " steps times buffers; 0: greedy only"
            )
        },
    )
    ring: int = field(
        default=0,
        metadata={
            "help": (
                "bytes per partition for the ring of the weight stream, which limits "
                "prefetching; 0: all free bytes"
            )
        },
    )
    loops: bool = field(
        default=True,
        metadata={
            "help": (
                "give inputs that are loaded after a loop bytes that the loop does not "
                "use, so that they are loaded during the loop"
            )
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Allocate the buffers of every function, and the variables."""
        require_phase(op, self.name, "ordered")
        machine = machine_of(op)
        room = Room(usable_sbuf(machine, self.sbuf), self.ring, self.search, self.loops)
        kinds = list(variables(op).values())
        with bodies_in_place(op):
            found = functions(op)
            addresses = place_variables(kinds)
            for func in found:
                listing = list_function(func, variables(op), placed=False)
                if any(b.space == Space.PSUM and b.address < 0 for b in listing.buffers):
                    assign_banks(func, op, machine, rotate=False)
                order = allocate_function(listing, machine, room)
                write_order(func.body.block, order)
                if len(found) == 1:  # else calls may lead from one live range to another
                    addresses = place_hbm(kinds, machine, order, listing.buffers)
        for variable in kinds:
            address = addresses[variable.sym_name.data]
            variable.properties["address"] = IntegerAttr(address, i64)
        verify_hbm(kinds, machine)
        op.attributes["neuronir.phase"] = StringAttr("allocated")


def allocate_function(listing: Listing, machine: Machine, room: Room) -> list[Node]:
    """Set the addresses of the SBUF buffers of a function; return the order with its stream
    moved.
    """
    buffers = listing.buffers
    try:
        order, addresses = place_sbuf(listing.nodes, buffers, room, machine)
    except SbufFull as full:
        raise full.error from None
    for buffer in buffers:
        if isinstance(buffer.op, AllocOp) and buffer.space == Space.SBUF:
            address = addresses.get(buffer.key, 0)  # 0 if it is never accessed
            buffer.op.properties["address"] = IntegerAttr(address, i64)
    return order
