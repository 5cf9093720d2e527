"""nc-forward-psum: let vector engines read the results of the tensor engine in PSUM.

Lowering copies a product from PSUM to SBUF, and its users read the copy. If only DVE and ACT read
it, they can read PSUM directly, which saves a step. Attention, for example, computes maxima and
exponentials directly from scores in PSUM.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Activation, Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.nc.records import instruction_record, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, machine_of, require_phase
from neuronir.passes.nc.live_banks import LiveBanks
from neuronir.passes.nc.rewrite import with_views
from neuronir.passes.statistics import record

BANKS_SHARE = 2
"""The fraction of PSUM banks that may be live at once, in program order, after forwarding: the
schedule needs the others to run ahead.
"""


@dataclass(frozen=True)
class NcForwardPsumPass(ModulePass):
    """Forward PSUM copies to their users when all users can read PSUM directly (DVE and ACT).

    A copy is removed if the machine allows all of its users to read PSUM, and if at most `banks`
    PSUM banks are then live at once in program order.
    """

    name = "nc-forward-psum"
    banks: int = field(
        default=0,
        metadata={"help": "largest number of live PSUM banks; 0: half of the machine's banks"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every straight-line block of the module."""
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        limit = self.banks or machine.psum_banks // BANKS_SHARE
        count, spared = 0, 0.0
        with bodies_in_place(op):
            for func in functions(op):
                for block in [region.block for inner in walk(func) for region in inner.regions]:
                    if any(_copies_locally(op, block) for op in ops_of(block)):
                        forward = _Forward(block, machine, limit)
                        count += forward.run()
                        spared += forward.spared
        record(self.name, "evictions removed", count)
        record(self.name, "ns of their engines, one iteration of each loop", round(spared))


@dataclass(slots=True)
class _Touch:
    """An operand of an instruction: its position in the block, its role, and the view."""

    place: int
    role: int
    view: View
    write: bool


class _Forward:
    """The instructions of one block, and the users of its buffers."""

    def __init__(self, block: Block, machine: Machine, limit: int) -> None:
        self.machine = machine
        self.limit = limit
        self.ops = [op for op in ops_of(block) if isinstance(op, InstructionOp)]
        self.touches: dict[SSAValue, list[_Touch]] = defaultdict(list)
        for place, op in enumerate(self.ops):
            for role, view in enumerate(op.views()):
                if view is not None:
                    write = role < len(op.spec.dst)
                    self.touches[view.buffer].append(_Touch(place, role, view, write))
        self.local = {buffer for buffer in self.touches if is_local(buffer, block)}
        self.last: dict[SSAValue, int] = {}
        self.spared = 0.0  # ns of the removed copies
        self.banks = LiveBanks(machine, len(self.ops))
        for buffer, touches in self.touches.items():
            if space_of(buffer) is Space.PSUM:
                self.last[buffer] = touches[-1].place
                self.banks.hold(buffer, touches[0].place, touches[-1].place)

    def run(self) -> int:
        """Remove copies and return their number."""
        gone: set[SSAValue] = set()
        count = 0
        for place, op in enumerate(self.ops):
            views = _plain_copy(op)
            if views is None or not {v.buffer for v in views} <= self.local:
                continue
            if self._forward(place, *views):
                gone.add(views[0].buffer)
                count += 1
        for buffer in gone:
            owner = buffer.owner
            if isinstance(owner, AllocOp) and not list(buffer.uses):
                owner.detach()
                owner.erase()
        return count

    def _forward(self, place: int, dst: View, src: View) -> bool:
        """Let the readers of the copy at `place` read its source; return False if one cannot."""
        low, size = dst.offset, dst.free[0][1]
        readers: dict[int, dict[int, View]] = defaultdict(dict)
        for touch in self.touches[dst.buffer]:
            if touch.place == place or not _meets(touch.view, dst):
                continue
            if touch.write or touch.place < place or not _within(touch.view, dst):
                return False
            view = replace(
                touch.view, buffer=src.buffer, offset=touch.view.offset - low + src.offset
            )
            readers[touch.place][touch.role] = view
        writes = [t.place for t in self.touches[src.buffer] if t.write]
        if not readers or not size or any(p > place for p in writes):
            return False
        begin, end = self.last[src.buffer], max(self.last[src.buffer], *readers)
        if end > begin and self.banks.with_buffer(src.buffer, begin + 1, end) > self.limit:
            return False
        found = self._rewritten(readers)
        if found is None:
            return False
        self.banks.hold(src.buffer, begin + 1, end)
        self.last[src.buffer] = end
        for at, new in found.items():
            self._replace(at, new)
        op = self.ops[place]
        numbers = dict.fromkeys(op.operands, 0)
        self.spared += cost(instruction_record(op, numbers, numbers), self.machine).issue_ns
        op.detach()
        op.erase()
        return True

    def _rewritten(
        self, readers: Mapping[int, Mapping[int, View]]
    ) -> dict[int, InstructionOp] | None:
        """Return the readers with their new operands, or None if the machine does not allow one."""
        out: dict[int, InstructionOp] = {}
        for place, views in readers.items():
            op = self.ops[place]
            new = with_views(op, views)
            numbers = dict.fromkeys(new.operands, 0)
            out[place] = new
            made = instruction_record(new, numbers, numbers)
            if made.engine not in (Engine.ACT, Engine.DVE) or list(violations(made, self.machine)):
                for unused in out.values():  # otherwise buffers have uses outside of the program
                    unused.erase()
                return None
        return out

    def _replace(self, place: int, new: InstructionOp) -> None:
        old = self.ops[place]
        block = old.parent
        assert block is not None
        block.insert_op_before(new, old)
        old.detach()
        old.erase()
        self.ops[place] = new
        for role, view in enumerate(new.views()):
            if view is None:
                continue
            known = self.touches[view.buffer]
            if not any(t.place == place and t.role == role for t in known):
                known.append(_Touch(place, role, view, False))


def _copies_locally(op: Operation, block: Block) -> bool:
    """Return whether an op is a plain copy between buffers that are local to `block`."""
    views = _plain_copy(op) if isinstance(op, InstructionOp) else None
    return views is not None and all(is_local(view.buffer, block) for view in views)


def is_local(buffer: SSAValue, block: Block) -> bool:
    """Return whether a block allocates a buffer, and only its own instructions access it."""
    owner = buffer.owner
    if not isinstance(owner, AllocOp) or owner.parent is not block or owner.role is not None:
        return False
    users = (use.operation for use in buffer.uses)
    return all(isinstance(op, InstructionOp) and op.parent is block for op in users)


def _plain_copy(op: InstructionOp) -> tuple[View, View] | None:
    """Match an instruction that copies contiguous elements from PSUM to SBUF unchanged.

    Returns (destination, source).
    """
    if op.opcode() not in ("tensor_copy", "activation"):
        return None
    views = op.views()
    dst, src = views[0], views[len(op.spec.dst)]
    if dst is None or src is None or sum(v is not None for v in views) != 2:
        return None
    if op.opcode() == "activation":
        params = op.param_values()
        if params["func"] != Activation.COPY or params["scale"] != 1.0 or params["bias"] != 0.0:
            return None
    spaces = space_of(dst.buffer), space_of(src.buffer)
    if spaces != (Space.SBUF, Space.PSUM) or dst.dtype or src.dtype:
        return None
    assert isinstance(dst.buffer.type, MemRefType) and isinstance(src.buffer.type, MemRefType)
    if dst.buffer.type.element_type != src.buffer.type.element_type:
        return None
    flat = dst.free == src.free and len(dst.free) == 1 and dst.free[0][0] == 1
    fixed = not dst.indices and not src.indices and dst.start == src.start
    return (dst, src) if flat and fixed and dst.partitions == src.partitions else None


def _range(view: View) -> tuple[int, int]:
    """Return the first element and the one after the last."""
    ends = [stride * (size - 1) for stride, size in view.free]
    low = view.offset + sum(min(e, 0) for e in ends)
    return low, view.offset + sum(max(e, 0) for e in ends) + 1


def _meets(view: View, other: View) -> bool:
    """Return whether two views of one buffer may share an element."""
    if view.indices or view.dtype:
        return True
    (a, b), (c, d) = _range(view), _range(other)
    apart = (
        view.start + view.partitions <= other.start or other.start + other.partitions <= view.start
    )
    return not apart and a < d and c < b


def _within(view: View, other: View) -> bool:
    """Return whether all elements of a view are in a contiguous one."""
    if view.indices or view.dtype:
        return False
    (a, b), (c, d) = _range(view), _range(other)
    rows = (
        other.start <= view.start and view.start + view.partitions <= other.start + other.partitions
    )
    return rows and c <= a and b <= d
