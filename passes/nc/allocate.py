"""nc-allocate: addresses of buffers in SBUF and of variables in HBM."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.placement import place_variables, variable_bytes
from neuronir.dialects.nc.structure import AllocOp, VariableOp
from neuronir.dialects.support.errors import NeuronError
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
from neuronir.passes.nc.place_sbuf import Room, SbufFull, place_sbuf
from neuronir.passes.nc.rewrite import write_order


@dataclass(frozen=True)
class NcAllocate(ModulePass):
    """Give every buffer of SBUF and every variable an address.

    Buffers of PSUM have theirs from nc-assign-banks; in a function where one has none, all of them
    take the first bank that is empty. `sbuf`: bytes per partition to use, in place of the
    machine's; what does not fit is an error that says by how much (nc-spill makes it fit).
    `search`: how long to search for a packing where putting down buffers one by one leaves gaps
    that matter, in steps times buffers; 0 not to. `ring`: bytes per partition that the ring of the
    weight stream may take, 0 for all that is left: it bounds how far weights are loaded ahead.
    `loops`: whether inputs that are loaded behind a loop get bytes, where there are such, that the
    loop does not use, so that they are loaded while it runs.
    """

    name = "nc-allocate"
    sbuf: int = 0
    search: int = 1_000_000
    ring: int = 0
    loops: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Allocate the buffers of every function, and the variables."""
        require_phase(op, self.name, "ordered")
        machine = machine_of(op)
        room = Room(usable_sbuf(machine, self.sbuf), self.ring, self.search, self.loops)
        with bodies_in_place(op):
            for func in functions(op):
                listing = list_function(func, variables(op), placed=False)
                if any(b.space == Space.PSUM and b.address < 0 for b in listing.buffers):
                    assign_banks(func, op, machine, rotate=False)
                write_order(func.body.block, allocate_function(listing, machine, room))
        kinds = variables(op)
        set_addresses(list(kinds.values()), machine)
        op.attributes["neuronir.phase"] = StringAttr("allocated")


def allocate_function(listing: Listing, machine: Machine, room: Room) -> list[Node]:
    """Set the addresses of the SBUF buffers of a function; the order with its stream placed
    anew."""
    buffers = listing.buffers
    try:
        order, addresses = place_sbuf(listing.nodes, buffers, room, machine)
    except SbufFull as full:
        raise full.error from None
    for buffer in buffers:
        if isinstance(buffer.op, AllocOp) and buffer.space == Space.SBUF:
            address = addresses.get(buffer.key, 0)  # 0 where nothing ever touches it
            buffer.op.properties["address"] = IntegerAttr(address, i64)
    return order


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
