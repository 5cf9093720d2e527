"""nc-hold-in-psum: hold intermediate values of ACT and DVE in PSUM, which DVE reads faster.

DVE takes two cycles for an element if both of its operands are in SBUF, and one if one of them is
in PSUM (docs/hardware.md, `tensor_tensor`). A value that ACT or DVE computes, and that only they
read, can be in either memory.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.attributes import PSUM
from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.counts import count_load
from neuronir.dialects.nc.enums import Engine, Port, Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import instruction_record, space_of
from neuronir.dialects.nc.structure import AllocOp, FuncOp
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.forward import BANKS_SHARE, is_local
from neuronir.passes.nc.listing import functions, machine_of, require_phase
from neuronir.passes.nc.live_banks import LiveBanks
from neuronir.passes.statistics import record

BESIDE_PRODUCTS = 3 / 8
"""The share of the banks that may be live at once in a block that uses PSUM otherwise: with half of
them, products found none.
"""
_ENGINES = (Engine.PE, Engine.ACT, Engine.DVE, Engine.POOL)
_DMA = "dma"
"""The resource of all DMA engines together."""
_Times = dict[Engine | Port | str, float]


@dataclass(frozen=True)
class NcHoldInPsumPass(ModulePass):
    """Hold fp32 values that only ACT and DVE access in PSUM, where that takes DVE less time.

    Buffers move in loops with known trip counts, and outside of loops, if DVE has most work there:
    more than ACT, PE and the DMA engines, and than the time in which PSUM is in use. All
    instructions of a buffer must be in one block, without a loop between them, and allowed to
    access PSUM. At most `banks` PSUM banks are then live at once in program order. Larger gains
    come first.
    """

    name = "nc-hold-in-psum"
    banks: int = field(
        default=0,
        metadata={
            "help": "largest number of live PSUM banks; 0: half of the machine's banks, or three "
            "eighths beside products"
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move buffers of every straight-line block of the module."""
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        count, spared = 0, 0.0
        with bodies_in_place(op):
            for func in functions(op):
                for block in list(_blocks(func)):
                    found = _Block(block, machine, self.banks)
                    count += found.run()
                    spared += found.spared
        record(self.name, "values held in PSUM", count)
        record(self.name, "ns of DVE saved, one iteration of each loop", round(spared))


def _blocks(func: FuncOp) -> Iterator[Block]:
    """Yield the block of a function, and the bodies of its loops whose trip counts, and those of
    the loops around them, are known.

    In the others, the buffers of all stretches may be live together.
    """
    work = [func.body.block]
    while work:
        block = work.pop()
        yield block
        loops = [op for op in ops_of(block) if isinstance(op, scf.ForOp)]
        work += [op.body.block for op in loops if count_load(op) is None]


@dataclass(frozen=True, slots=True)
class _Move:
    """A buffer that would be in PSUM: its instructions then, and the ns that DVE would save."""

    buffer: SSAValue
    records: Mapping[int, Instruction]
    gain: float


class _Block:
    """The instructions of one block, and the buffers that only they access."""

    def __init__(self, block: Block, machine: Machine, limit: int) -> None:
        """List a block, in which `limit` banks (0: the usual number) may be live at once."""
        self.machine = machine
        self.ops: list[InstructionOp] = []
        self.stretch: list[int] = []  # the loops before each instruction
        loops = 0
        for op in ops_of(block):
            loops += bool(op.regions)
            if isinstance(op, InstructionOp):
                self.ops.append(op)
                self.stretch.append(loops)
        self.records: list[Instruction] = []
        self.places: dict[SSAValue, list[int]] = defaultdict(list)
        for place, op in enumerate(self.ops):
            numbers = dict.fromkeys(op.operands, 0)
            self.records.append(instruction_record(op, numbers, numbers))
            for view in op.views():
                if view is not None and place not in self.places[view.buffer][-1:]:
                    self.places[view.buffer].append(place)
        self.local = [buffer for buffer in self.places if is_local(buffer, block)]
        self.spared = 0.0
        self.banks = LiveBanks(machine, len(self.ops))
        for buffer, places in self.places.items():
            if space_of(buffer) is Space.PSUM:
                self.banks.hold(buffer, places[0], places[-1])
        share = BESIDE_PRODUCTS if any(self.banks.live) else 1 / BANKS_SHARE
        self.limit = limit or int(machine.psum_banks * share)
        self.times: _Times = dict.fromkeys((*_ENGINES, Port.PSUM_VECTOR, _DMA), 0.0)
        for one in self.records:
            self._count(self.times, one, 1)

    def run(self) -> int:
        """Move buffers, and return their number."""
        moves = [move for buffer in self.local if (move := self._move(buffer)) is not None]
        count = 0
        for move in sorted(moves, key=lambda m: -m.gain / self.banks.of(m.buffer)):
            again = self._move(move.buffer)  # other operands may be in PSUM now
            if again is None or not self._fits(again):
                continue
            self._apply(again)
            count += 1
        return count

    def _move(self, buffer: SSAValue) -> _Move | None:
        """Return what becomes of a buffer's instructions in PSUM; None if nothing is gained."""
        type_ = buffer.type
        assert isinstance(type_, MemRefType)
        if space_of(buffer) is not Space.SBUF or not isinstance(type_.element_type, Float32Type):
            return None
        places = self.places[buffer]
        if self.banks.of(buffer) > self.limit or self.stretch[places[0]] < self.stretch[places[-1]]:
            return None
        new: dict[int, Instruction] = {}
        gain = 0.0
        for place in places:
            old = self.records[place]
            if old.engine not in (Engine.ACT, Engine.DVE):
                return None
            made = self._in_psum(place, buffer)
            if any(violations(made, self.machine)):
                return None
            new[place] = made
            gain += cost(old, self.machine).issue_ns - cost(made, self.machine).issue_ns
        return _Move(buffer, new, gain) if gain > 0 else None

    def _in_psum(self, place: int, buffer: SSAValue) -> Instruction:
        """Return an instruction whose accesses to a buffer are to PSUM."""
        op, old = self.ops[place], self.records[place]
        patterns: list[AccessPattern | None] = []
        for view, pattern in zip(op.views(), [*old.dst, *old.src], strict=True):
            if view is not None and view.buffer is buffer and pattern is not None:
                pattern = replace(pattern, space=Space.PSUM)
            patterns.append(pattern)
        n = len(old.dst)
        return replace(old, dst=tuple(patterns[:n]), src=tuple(patterns[n:]))

    def _fits(self, move: _Move) -> bool:
        """Return whether DVE has most work, there are banks, and nothing takes longer than DVE."""
        places = self.places[move.buffer]
        if self.banks.with_buffer(move.buffer, places[0], places[-1]) > self.limit:
            return False
        longest = max(self.times.values())
        if self.times[Engine.DVE] < longest:
            return False
        after = dict(self.times)
        for place, made in move.records.items():
            self._count(after, self.records[place], -1)
            self._count(after, made, 1)
        return max(after.values()) <= longest

    def _apply(self, move: _Move) -> None:
        buffer = move.buffer
        for place, made in move.records.items():
            self._count(self.times, self.records[place], -1)
            self._count(self.times, made, 1)
            self.records[place] = made
        places = self.places[buffer]
        self.banks.hold(buffer, places[0], places[-1])
        self.spared += move.gain
        alloc = buffer.owner
        assert isinstance(alloc, AllocOp) and isinstance(buffer.type, MemRefType)
        shape, element = list(buffer.type.get_shape()), buffer.type.element_type
        new = AllocOp.make(MemRefType(element, shape, memory_space=PSUM))
        new.location = alloc.location
        new.buffer.name_hint = buffer.name_hint
        assert alloc.parent is not None
        alloc.parent.insert_op_before(new, alloc)
        buffer.replace_all_uses_with(new.buffer)
        alloc.detach()
        alloc.erase()

    def _count(self, times: _Times, one: Instruction, sign: int) -> None:
        """Add (or subtract) the times of an instruction."""
        spent = cost(one, self.machine)
        times[_DMA] += sign * spent.dma_load_ns / self.machine.dma_engines
        if one.engine in times:
            times[one.engine] += sign * spent.issue_ns
        if Port.PSUM_VECTOR in spent.ports:
            times[Port.PSUM_VECTOR] += sign * spent.port_ns
