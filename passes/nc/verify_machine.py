"""nc-verify-machine: an nc module against the limits of its machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import source_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import (
    Buffer,
    Node,
    functions,
    list_function,
    machine_of,
    phase_of,
    variables,
)

_PLACED = ("allocated", "synchronised")


@dataclass(frozen=True)
class NcVerifyMachine(ModulePass):
    """Check every instruction and buffer; the first thing that is wrong is the error NIR_NC010."""

    name = "nc-verify-machine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the module; it is not changed."""
        machine = machine_of(op)
        placed = phase_of(op) in _PLACED
        kinds = variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                listing = list_function(func, kinds, placed=placed)
                for problem in _buffers(listing.buffers, machine):
                    raise NeuronError("NIR_NC010", problem)
                for node in _instructions(listing.nodes):
                    self._check(node, machine)

    def _check(self, node: Node, machine: Machine) -> None:
        record, op = node.record, node.op
        if record is None or not isinstance(op, InstructionOp):
            return
        limits = {
            Space.SBUF: machine.sbuf_usable_partition_bytes,
            Space.PSUM: machine.psum_partition_bytes,
        }
        problems = list(violations(record, machine))
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
                location=source_of(op).name or None,
                help=f"the limits are those of {machine.name}",
            )


def _buffers(buffers: Sequence[Buffer], machine: Machine) -> Iterator[str]:
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
                f"nc.alloc of {buffer.partitions} partitions in {space}; there are "
                f"{machine.partitions}"
            )
        if buffer.size > size:
            yield f"nc.alloc of {buffer.size} bytes per partition in {space}; there are {size}"
        bank = machine.psum_bank_bytes
        if buffer.space == Space.PSUM and buffer.address >= 0 and buffer.size > 0:
            first, last = buffer.address // bank, (buffer.address + buffer.size - 1) // bank
            if first != last and buffer.address % bank:
                yield (
                    f"nc.alloc at {buffer.address} of {buffer.size} bytes crosses from PSUM bank "
                    f"{first} to {last}; a larger buffer must begin at a bank"
                )


def _instructions(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.record is None:
            yield from _instructions(node.body)
        else:
            yield node
