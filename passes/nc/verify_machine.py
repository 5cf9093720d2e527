"""nc-verify-machine: check an nc module against the limits of its machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.attributes import UpdateAttr, WaitAttr
from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.semantics.dispatch import kernel_of
from neuronir.dialects.nc.semantics.kernel import SemanticError
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.dialects.support.location import without_facts
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.inline import inline_calls
from neuronir.passes.nc.listing import (
    Access,
    Buffer,
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    phase_of,
    variables,
)
from neuronir.passes.nc.rewrite import fold_constants

PLACED = ("allocated", "synchronised")
_WITHOUT_TILES = ("register_load", "barrier")


@dataclass(frozen=True)
class NcVerifyMachinePass(ModulePass):
    """Check every instruction and buffer against the limits of the machine.

    The first violation raises NIR_NC010.
    """

    name = "nc-verify-machine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the module without changing it."""
        check = MachineCheck(machine_of(op))
        placed = phase_of(op) in PLACED
        if phase_of(op) == "virtual":
            op = written_out(op)
        kinds = variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                check.function(list_function(func, kinds, placed=placed))


class MachineCheck:
    """Checks functions against the limits of a machine, caching what was found valid.

    With `room`, unplaced buffers must fit in SBUF, too. Passes leave that check to nc-allocate,
    which reports the live buffers, because a program that is too large is not a bug of a pass.
    """

    def __init__(self, machine: Machine, room: bool = True) -> None:
        self.machine = machine
        self.room = room
        self.limits = {
            Space.SBUF: machine.sbuf_usable_partition_bytes,
            Space.PSUM: machine.psum_partition_bytes,
        }
        self.right: set[tuple[object, ...]] = set()
        self.owners: dict[Engine, Engine] = {}

    def function(self, listing: Listing) -> None:
        """Raise NIR_NC010 for the first violation in a function."""
        sizes = dict(self.limits)
        if not (listing.placed or self.room):
            del sizes[Space.SBUF]
        for buffer, problem in _buffers(listing.buffers, self.machine, sizes):
            where = location_of(buffer.op) if buffer.op is not None else None
            raise NeuronError("NIR_NC010", problem, location=where)
        self.owners = {}
        for node in _instructions(listing.nodes):
            self._check(node, listing, sizes)

    def semaphores(self, module: ModuleOp) -> None:
        """Raise NIR_NC010 for the first invalid semaphore of an otherwise valid module."""
        for op in walk(module):
            if isinstance(op, InstructionOp):
                waits = [cast(WaitAttr, a).data for a in op.waits.data] if op.waits else ()
                updates = [cast(UpdateAttr, a).data for a in op.updates.data] if op.updates else ()
                problems = self._missing([u.semaphore for u in (*waits, *updates)])
                self._report(op, problems)

    def _check(self, node: Node, listing: Listing, sizes: Mapping[Space, int]) -> None:
        record, op = node.record, node.op
        if record is None or not isinstance(op, InstructionOp):
            return
        machine = self.machine
        problems: list[str] = []
        what = _what(record, machine)
        if what not in self.right:
            problems = list(violations(record, machine)) or list(_meaning(record, machine))
            if not problems:
                self.right.add(what)
        if record.engine.is_dma and op.engine is not None:
            problems += self._owner(record)
        outside: list[str] = []
        for access in node.accesses:
            buffer, low, high = listing.buffers[access.buffer], access.low, access.high
            base = buffer.address if listing.placed else 0
            if low < base or high - base > buffer.size:
                problems += _bounds(access, listing)
            limit = sizes.get(buffer.space)
            if limit is not None and (low < 0 or high > limit):
                outside.append(
                    f"touches bytes {access.low} to {access.high - 1} of "
                    f"{access.pattern.space.name}, which has {limit} per partition"
                )
        problems += outside
        if record.waits or record.updates:
            used = [w.semaphore for w in record.waits] + [u.semaphore for u in record.updates]
            problems += self._missing(used)
        self._report(op, problems)

    def _owner(self, record: Instruction) -> Iterator[str]:
        owner = self.owners.setdefault(record.engine, record.trigger)
        if owner is not record.trigger:
            yield (
                f"is started by {record.trigger.name.lower()}, as others of "
                f"{record.engine.name.lower()} are by {owner.name.lower()}: a queue belongs to one "
                "engine"
            )

    def _missing(self, used: Sequence[int]) -> list[str]:
        machine = self.machine
        return [
            f"uses semaphore {semaphore}; {machine.name} has {machine.semaphores}"
            for semaphore in used
            if semaphore >= machine.semaphores
        ]

    def _report(self, op: InstructionOp, problems: Sequence[str]) -> None:
        if problems:
            engine = op.engine.data if isinstance(op.engine, StringAttr) else "no engine yet"
            raise NeuronError(
                "NIR_NC010",
                f"{op.name} ({engine}): {problems[0]}",
                location=location_of(op),
                help=f"the limits are those of {self.machine.name}",
            )


def _what(record: Instruction, machine: Machine) -> tuple[object, ...]:
    """Return a key with everything on which limits depend.

    The only limit that depends on an address is the position of a sum in its bank.
    """
    bank: object = None
    if record.opcode == "matmul" and record.dst and record.dst[0] is not None:
        address = record.dst[0].address
        bank = None if address.terms else address.const % machine.psum_bank_bytes
    operands = (
        None if p is None else (p.space, p.dtype, p.start, p.partitions, p.free, p.partition_stride)
        for p in (*record.dst, *record.src)
    )
    return (
        record.opcode,
        record.engine,
        record.trigger,
        len(record.dst),
        bank,
        tuple(record.params.items()),  # in the order of the opcode's row
        *operands,
    )


def written_out(module: ModuleOp) -> ModuleOp:
    """Return a copy as nc-unroll prepares it: calls inlined, constant indices folded."""
    copy = clone(module)
    for old, new in zip(walk(module), walk(copy), strict=True):
        new.location = old.location
    with bodies_in_place(copy):
        inline_calls(copy)
        for func in functions(copy):
            fold_constants(func.body.block)
    return copy


def location_of(op: Operation) -> SourceLocation | str | None:
    """Return the location of an op: its HLO op, or its position in the source file."""
    location = without_facts(op.location)
    if isinstance(location, FileLineColLoc):
        return SourceLocation(location.filename.data, location.line.data, location.column.data)
    return source_of(op).name or None


def _meaning(record: Instruction, machine: Machine) -> Iterator[str]:
    """Return whether the operands match each other, as far as that does not depend on data."""
    if record.opcode in _WITHOUT_TILES:
        return
    try:
        kernel_of(record, lambda text, count: None, machine.generation)
    except SemanticError as error:
        yield str(error)


def _bounds(access: Access, listing: Listing) -> Iterator[str]:
    """Return whether an access stays in its buffer in all iterations of the loops around it."""
    buffer = listing.buffers[access.buffer]
    base = buffer.address if listing.placed else 0
    low, high = access.low - base, access.high - base
    if low < 0 or high > buffer.size:
        where = f"variable @{buffer.name}" if buffer.name else "a buffer"
        unit = "" if buffer.space == Space.HBM else " per partition"
        yield f"touches bytes {low} to {high - 1} of {where} of {buffer.size} bytes{unit}"


def _buffers(
    buffers: Sequence[Buffer], machine: Machine, sizes: Mapping[Space, int]
) -> Iterator[tuple[Buffer, str]]:
    for buffer in buffers:
        size = sizes.get(buffer.space)
        if buffer.space == Space.HBM:
            continue
        space = buffer.space.name
        if buffer.partitions > machine.partitions:
            yield (
                buffer,
                f"nc.alloc of {buffer.partitions} partitions in {space}; there are "
                f"{machine.partitions}",
            )
        if size is not None and buffer.size > size:
            yield (
                buffer,
                f"nc.alloc of {buffer.size} bytes per partition in {space}; there are {size}",
            )
        bank = machine.psum_bank_bytes
        if buffer.space == Space.PSUM and buffer.address >= 0 and buffer.size > 0:
            first, last = buffer.address // bank, (buffer.address + buffer.size - 1) // bank
            if first != last and buffer.address % bank:
                yield (
                    buffer,
                    f"nc.alloc at {buffer.address} of {buffer.size} bytes crosses from PSUM bank "
                    f"{first} to {last}; a larger buffer must begin at a bank",
                )


def _instructions(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.record is None:
            yield from _instructions(node.body)
        else:
            yield node
