"""nc-assign-banks: assign banks to PSUM buffers in rotation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp, FuncOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.passes.nc.banks import allocate_banks
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import (
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.liveness import Life, deep_lifetimes
from neuronir.passes.nc.memory_map import out_of_memory
from neuronir.passes.nc.pack import Item
from neuronir.passes.nc.replay import replay_ns
from neuronir.passes.statistics import gains, record


@dataclass(frozen=True)
class NcAssignBanksPass(ModulePass):
    """Assign PSUM banks to buffers.

    nc-allocate keeps these addresses. If a buffer does not fit, the pass raises NCC_EOOM002.
    """

    name = "nc-assign-banks"
    rotate: bool = field(
        default=True,
        metadata={
            "help": (
                "take the bank that has been empty longest, so that PE can run ahead; "
                "otherwise the first empty bank"
            )
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set the addresses of the PSUM buffers of every function."""
        require_phase(op, self.name, "ordered")
        machine = machine_of(op)
        with bodies_in_place(op):
            for func in functions(op):
                items, found = assign_banks(func, op, machine, self.rotate)
                _report(func, op, items, found, machine)


def assign_banks(
    func: FuncOp, module: ModuleOp, machine: Machine, rotate: bool
) -> tuple[list[Item], dict[int, int]]:
    """Set the addresses of the PSUM buffers of a function.

    Returns them by buffer number in program order, for the buffers that are accessed. Raises
    NCC_EOOM002 if there is no room for a buffer.
    """
    order = _Order()
    order.walk(func.body.block)
    items = []
    for key, life in sorted(order.lives.items()):
        alloc = order.allocs[key]
        if alloc.role is not None and alloc.role.data == "constant":
            life.last = order.places
        size = partition_bytes(alloc.buffer.type)
        items.append(Item(key, size, life.first, life.last))
    found = allocate_banks(items, machine, rotate)
    if isinstance(found, int):
        raise _full(func, module, machine, order.allocs[found])
    for key, alloc in enumerate(order.allocs):
        address = found.get(key, 0)  # 0 if it is never accessed
        alloc.properties["address"] = IntegerAttr(address, i64)
    return items, found


@dataclass
class _Order:
    """The PSUM buffers of a function in program order, with their live ranges.

    The result equals `deep_lifetimes`, without reading the access patterns of all instructions.
    """

    allocs: list[AllocOp] = field(default_factory=list)
    lives: dict[int, Life] = field(default_factory=dict)
    keys: dict[SSAValue, int] = field(default_factory=dict)
    places: int = 0

    def walk(self, block: Block) -> set[int]:
        """Visit a block and its loops; return the buffers that it accesses."""
        touched: set[int] = set()
        for op in block.ops:
            if isinstance(op, InstructionOp):
                for value in op.operands:
                    key = self.keys.get(value)
                    if key is not None:
                        touched.add(key)
                        self.lives.setdefault(key, Life(self.places, 0)).last = self.places
                self.places += 1
            elif isinstance(op, AllocOp):
                if space_of(op.buffer) == Space.PSUM:
                    self.keys[op.buffer] = len(self.allocs)
                    self.allocs.append(op)
            elif isinstance(op, LoopOp):
                touched |= self.loop(op)
        return touched

    def loop(self, op: LoopOp) -> set[int]:
        """Visit a loop: outer buffers that it uses are live in all of it."""
        begin, outside = self.places, len(self.allocs)
        touched = self.walk(body_of(op))
        for key in touched:
            if key < outside:
                life = self.lives[key]
                life.first = min(life.first, begin)
                life.last = max(life.last, self.places - 1)
        return touched


def _full(func: FuncOp, module: ModuleOp, machine: Machine, alloc: AllocOp) -> NeuronError:
    """Create the error for a buffer without a bank."""
    listing = list_function(func, variables(module), placed=False)
    buffers = listing.buffers
    lives, _ = deep_lifetimes(listing.nodes, buffers)
    place = next(lives[b.key].first for b in buffers if b.op is alloc)
    banks = sum(
        -(-buffers[k].size // machine.psum_bank_bytes)
        for k, life in lives.items()
        if buffers[k].space == Space.PSUM and life.first <= place <= life.last
    )
    return out_of_memory(
        Space.PSUM,
        banks * machine.psum_bank_bytes,
        machine.psum_partition_bytes,
        place,
        listing.nodes,
        buffers,
        lives,
    )


def _report(
    func: FuncOp,
    module: ModuleOp,
    items: Sequence[Item],
    found: Mapping[int, int],
    machine: Machine,
) -> None:
    """Report the number of banks in use, and the estimated gain of rotation."""
    bank = machine.psum_bank_bytes
    used = {found[i.key] // bank + k for i in items for k in range(-(-i.size // bank))}
    record(NcAssignBanksPass.name, "banks", len(used))
    if not items or not gains():
        return
    listing = list_function(func, variables(module), placed=False)
    keys = [b.key for b in listing.buffers if b.space == Space.PSUM]
    for text, rotate in (("bank rotation", True), ("the first empty bank", False)):
        addresses = allocate_banks(items, machine, rotate)
        if isinstance(addresses, int):
            continue
        spans = {keys[i.key]: (addresses[i.key], addresses[i.key] + i.size) for i in items}
        time = replay_ns(listing, listing.nodes, machine, psum=spans)
        record(NcAssignBanksPass.name, f"estimated ns with {text}", round(time))
