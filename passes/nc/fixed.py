"""Keep the records of instructions at constant addresses with their ops.

Many passes and checks read the same function. An instruction that has not changed since it was last
read, and whose buffers have the same addresses, has the same record and the same accesses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import Shape, accesses, shape_of
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import instruction_record
from neuronir.dialects.support.identity import by_identity

PARTIAL = ("copy_predicated", "dma_scatter")
"""Instructions that may leave some bytes of their footprints unchanged."""

Extent = tuple[int, int, int, int, bool, AccessPattern, bool, Shape]
"""(low, high, start, stop, solid, pattern, fixed, shape), as in Access."""

_KEPT = "nc.fixed"


@dataclass(frozen=True, slots=True)
class FixedInstruction:
    """An instruction whose addresses are constants, and the state of the op that it was read from.

    All parts of that state are immutable or replaced as a whole, so identities decide whether it is
    still the same.
    """

    types: list[Attribute]
    bases: list[int | None]
    names: tuple[str, ...]
    properties: list[Attribute]
    template: Instruction
    accesses: list[tuple[int, bool, bool, Extent]]
    """(operand, write, partial, extent); operands are counted without absent ones."""

    def holds(self, op: InstructionOp, bases: Sequence[int | None]) -> bool:
        """Return whether an op, with buffers at these addresses, is still this instruction."""
        properties = op.properties
        return (
            bases == self.bases
            and len(properties) == len(self.names)
            and tuple(properties) == self.names
            and list(map(id, properties.values())) == list(map(id, self.properties))
            and [id(v._type) for v in op._operands] == list(map(id, self.types))
        )

    def record(self) -> Instruction:
        """Return the record, of which the parameters may be changed."""
        i = self.template
        return Instruction(
            i.opcode,
            i.engine,
            i.dst,
            i.src,
            dict(i.params),
            i.waits,
            i.updates,
            i.source,
            i.trigger,
        )


def fixed_instruction(
    op: InstructionOp, addresses: Mapping[SSAValue, int]
) -> FixedInstruction | None:
    """Return the record and accesses of an op without indices, given the addresses of buffers.

    Returns None if an address is unknown.
    """
    operands = op._operands
    bases = [addresses.get(v) for v in operands]
    found = op.__dict__.get(_KEPT)
    if isinstance(found, FixedInstruction) and found.holds(op, bases):
        return found
    if None in bases:
        return None
    record = instruction_record(op, addresses, {})
    partial = record.opcode in PARTIAL
    positions = count(0)
    number = [-1 if p is None else next(positions) for p in (*record.dst, *record.src)]
    made = FixedInstruction(
        [v._type for v in operands],
        bases,
        tuple(op.properties),
        list(op.properties.values()),
        record,
        [
            (number[operand], write, write and partial, extent_of(pattern))
            for operand, pattern, write in accesses(record)
        ],
    )
    op.__dict__[_KEPT] = made
    return made


@by_identity
def extent_of(pattern: AccessPattern) -> Extent:
    """Return the extent of an access at a constant address."""
    shape = shape_of(pattern)
    base = pattern.address.const
    start, stop = partitions_of(pattern)
    low, high = base + shape.low, base + shape.high
    return low, high, start, stop, not shape.dims, pattern, True, shape


def partitions_of(pattern: AccessPattern) -> tuple[int, int]:
    """Return the partitions of an access, start and end; (0, 1) in HBM."""
    if pattern.space == Space.HBM:
        return 0, 1
    return pattern.start, pattern.start + pattern.partitions
