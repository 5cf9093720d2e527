"""nc-dce: erase instructions whose results are unused.

Lowering attempts leave unused copies and conversions behind. Buffers are tracked as a whole: if a
buffer has a reader, all of its writers are kept.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import require_phase, variables
from neuronir.passes.statistics import record

_KEPT = frozenset(("input", "output"))
"""Variables that are visible to callers of the program; all writes to them stay."""

_Memory = SSAValue | str
"""A buffer: the result of an nc.alloc, or the name of a variable."""


@dataclass(frozen=True)
class NcDcePass(ModulePass):
    """Remove instructions whose results have no users, and unused buffers and variables.

    Writes to inputs and outputs are kept, and so are their operands. A buffer that is passed to a
    call or to an op that is not an instruction counts as used.
    """

    name = "nc-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module, which must be in phase virtual."""
        require_phase(op, self.name, "virtual")
        with bodies_in_place(op):
            dead = _Liveness(op).dead()
            for gone in dead:
                gone.detach()
                gone.erase()
            _sweep(op)
        record(self.name, "dead instructions", len(dead))


class _Liveness:
    """Marks the instructions that a program needs, backwards from its outputs."""

    def __init__(self, module: ModuleOp) -> None:
        self.kinds = {name: v.kind.data for name, v in variables(module).items()}
        self.members = {name: v.member_names for name, v in variables(module).items()}
        self.within: dict[str, list[str]] = defaultdict(list)
        for name, members in self.members.items():
            for member in members:
                self.within[member].append(name)
        ops = list(walk(module))
        self.instructions = [op for op in ops if isinstance(op, InstructionOp)]
        self.writers: dict[_Memory, list[InstructionOp]] = defaultdict(list)
        self.live: set[Operation] = set()
        self.read: set[_Memory] = set()
        self.queue: list[InstructionOp] = []
        for op in self.instructions:
            for view in op.dst_views():
                if view is not None:
                    self.writers[self._memory(view.buffer)].append(op)
        for other in ops:
            if not isinstance(other, InstructionOp):
                for value in other.operands:
                    self._need(value)

    def dead(self) -> list[InstructionOp]:
        """Return the unneeded instructions, last first."""
        for op in self.instructions:
            if self._is_effect(op):
                self._mark(op)
        while self.queue:
            op = self.queue.pop()
            for view in op.src_views():
                if view is not None:
                    self._need(view.buffer)
            for value in op.index_values():
                self._need(value)
        return [op for op in reversed(self.instructions) if op not in self.live]

    def _is_effect(self, op: InstructionOp) -> bool:
        """Return whether an instruction is a root: it writes memory that callers see, or no
        buffer.
        """
        views = [view for view in op.dst_views() if view is not None]
        if not views:
            return not op.results
        return any(self._is_seen(self._memory(view.buffer)) for view in views)

    def _is_seen(self, memory: _Memory) -> bool:
        if not isinstance(memory, str):
            return not isinstance(memory, OpResult)  # arguments of a function
        names = (memory, *self.members[memory])
        return any(self.kinds[name] in _KEPT for name in names)

    def _memory(self, buffer: SSAValue) -> _Memory:
        owner = buffer.owner
        return owner.variable.root_reference.data if isinstance(owner, AddressOfOp) else buffer

    def _mark(self, op: InstructionOp) -> None:
        if op not in self.live:
            self.live.add(op)
            self.queue.append(op)

    def _need(self, value: SSAValue) -> None:
        """Mark the producers of a value: the writers of a buffer, or the instruction of a
        register.
        """
        if isinstance(value.owner, InstructionOp):
            self._mark(value.owner)
            return
        memory = self._memory(value)
        if memory in self.read:
            return
        self.read.add(memory)
        names: list[_Memory] = [memory]
        if isinstance(memory, str):  # a variable, its members, and the variables that contain it
            names += [*self.members[memory], *self.within[memory]]
        for writer in chain.from_iterable(self.writers.get(name, ()) for name in names):
            self._mark(writer)


def _sweep(module: ModuleOp) -> None:
    """Erase buffers, loops, constants and variables that only dead instructions used."""
    for op in reversed([op for op in walk(module) if op is not module]):
        empty = isinstance(op, scf.ForOp) and not op.results and _is_empty(op)
        unused = op.results and not any(r.uses for r in op.results)
        if empty or (unused and _is_plain(op)):
            op.detach()
            op.erase()
    used = {op.variable.root_reference.data for op in walk(module) if isinstance(op, AddressOfOp)}
    for name, variable in reversed(variables(module).items()):
        if variable.kind.data in _KEPT or name in used:
            used.update(variable.member_names)
            continue
        variable.detach()
        variable.erase()


def _is_plain(op: Operation) -> bool:
    """Return whether an op has results only, so that erasing it has no effect."""
    return isinstance(op, (AllocOp, AddressOfOp)) or op.name.startswith("arith.")


def _is_empty(loop: scf.ForOp) -> bool:
    return all(isinstance(op, scf.YieldOp) for op in loop.body.block.ops)
