"""nc-verify-machine: an nc module against the limits of its machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import source_of
from neuronir.dialects.nc.semantics.dispatch import kernel_of
from neuronir.dialects.nc.semantics.kernel import SemanticError
from neuronir.dialects.support.errors import NeuronError, SourceLocation
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

_PLACED = ("allocated", "synchronised")
_WITHOUT_TILES = ("register_load", "barrier")


@dataclass(frozen=True)
class NcVerifyMachine(ModulePass):
    """Check every instruction and buffer; the first thing that is wrong is the error NIR_NC010."""

    name = "nc-verify-machine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the module; it is not changed."""
        machine = machine_of(op)
        placed = phase_of(op) in _PLACED
        if phase_of(op) == "virtual":
            op = _written_out(op)
        kinds = variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                listing = list_function(func, kinds, placed=placed)
                for buffer, problem in _buffers(listing.buffers, machine):
                    where = _location(buffer.op) if buffer.op is not None else None
                    raise NeuronError("NIR_NC010", problem, location=where)
                for node in _instructions(listing.nodes):
                    self._check(node, listing, machine)

    def _check(self, node: Node, listing: Listing, machine: Machine) -> None:
        record, op = node.record, node.op
        if record is None or not isinstance(op, InstructionOp):
            return
        limits = {
            Space.SBUF: machine.sbuf_usable_partition_bytes,
            Space.PSUM: machine.psum_partition_bytes,
        }
        problems = list(violations(record, machine)) or list(_meaning(record, machine))
        for access in node.accesses:
            problems += _bounds(access, listing)
        for access in node.accesses:
            limit = limits.get(access.pattern.space)
            if limit is not None and (access.low < 0 or access.high > limit):
                problems.append(
                    f"touches bytes {access.low} to {access.high - 1} of "
                    f"{access.pattern.space.name}, which has {limit} per partition"
                )
        used = [w.semaphore for w in record.waits] + [u.semaphore for u in record.updates]
        for semaphore in used:
            if semaphore >= machine.semaphores:
                problems.append(
                    f"uses semaphore {semaphore}; {machine.name} has {machine.semaphores}"
                )
        if problems:
            engine = op.engine.data if isinstance(op.engine, StringAttr) else "no engine yet"
            raise NeuronError(
                "NIR_NC010",
                f"{op.name} ({engine}): {problems[0]}",
                location=_location(op),
                help=f"the limits are those of {machine.name}",
            )


def _written_out(module: ModuleOp) -> ModuleOp:
    """A copy as nc-order begins with: calls written out at their place, constant places folded."""
    copy = module.clone()
    for old, new in zip(module.walk(), copy.walk(), strict=True):
        new.location = old.location
    with bodies_in_place(copy):
        inline_calls(copy)
        for func in functions(copy):
            fold_constants(func.body.block)
    return copy


def _location(op: Operation) -> SourceLocation | str | None:
    """Where an op stands: its HLO op, or its place in the file it was read from."""
    location = op.location
    if isinstance(location, FileLineColLoc):
        return SourceLocation(location.filename.data, location.line.data, location.column.data)
    return source_of(op).name or None


def _meaning(record: Instruction, machine: Machine) -> Iterator[str]:
    """Whether the operands fit each other, as far as that does not depend on data."""
    if record.opcode in _WITHOUT_TILES:
        return
    try:
        kernel_of(record, lambda text, count: None, machine.generation)
    except SemanticError as error:
        yield str(error)


def _bounds(access: Access, listing: Listing) -> Iterator[str]:
    """Whether an access stays in its buffer in all rounds of the loops around it."""
    buffer = listing.buffers[access.buffer]
    base = buffer.address if listing.placed else 0
    low, high = access.low - base, access.high - base
    if low < 0 or high > buffer.size:
        where = f"variable @{buffer.name}" if buffer.name else "a buffer"
        unit = "" if buffer.space == Space.HBM else " per partition"
        yield f"touches bytes {low} to {high - 1} of {where} of {buffer.size} bytes{unit}"


def _buffers(buffers: Sequence[Buffer], machine: Machine) -> Iterator[tuple[Buffer, str]]:
    sizes = {
        Space.SBUF: machine.sbuf_usable_partition_bytes,
        Space.PSUM: machine.psum_partition_bytes,
    }
    for buffer in buffers:
        size = sizes.get(buffer.space)
        if size is None:
            continue
        space = buffer.space.name
        if buffer.partitions > machine.partitions:
            yield (
                buffer,
                f"nc.alloc of {buffer.partitions} partitions in {space}; there are "
                f"{machine.partitions}",
            )
        if buffer.size > size:
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
