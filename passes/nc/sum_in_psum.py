"""nc-sum-in-psum: let PE add the early summand of a product in a recurrence.

One iteration of a recurrent layer takes as long as the chain from its state to the next one: a
product, the addition of the input's contribution, activations. The contribution does not depend on
the state, so PE can put it into PSUM first, as a product with the identity, while it waits for the
state. The product of the state then accumulates on top of it, and the addition leaves the chain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr, f32
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.resources import intern
from neuronir.dialects.nc.attributes import HBM, PSUM, SBUF
from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.dialect import INSTRUCTION_OPS
from neuronir.dialects.nc.enums import Activation, AluOp, Engine, Space
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import violations
from neuronir.dialects.nc.ops import EARLY, FINITE, InstructionOp, View, build, params_attr
from neuronir.dialects.nc.origin import of_op_alone
from neuronir.dialects.nc.records import instruction_record, space_of
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, FuncOp, VariableOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, machine_of, require_phase, variables
from neuronir.passes.nc.rewrite import with_views
from neuronir.passes.nc.share_banks import share_banks
from neuronir.passes.statistics import record

_MATMUL = INSTRUCTION_OPS["matmul"]
_SATURATES = (Activation.TANH, Activation.SIGMOID)
"""The functions of recurrent layers; readers of other kinds may get infinities, such as masks."""
ROUNDS = 2
"""The iterations whose sums are in PSUM at once."""
DIMS = 3
"""Limit of free dimensions of a summand: joined summands have one more."""


@dataclass(frozen=True)
class NcSumInPsumPass(ModulePass):
    """Add the early summand of a recurrent product on PE, before the product.

    Applies to innermost loops. The product must depend on the previous iteration, the summand must
    be complete before the loop, and all readers of the sum must be tanh or sigmoid. Summands in
    equal distances, such as those of the gates of an LSTM, are one matmul. Not applied if PE
    would take longer for them than it waits for the state.

        nc.matmul (%p) = (%w, %h) {accumulate = 0}
        nc.tensor_tensor (%s) = (%x, %p) {op = "add"}
        nc.activation (%h) = (%s) {func = "tanh"}

    becomes

        nc.matmul (%q) = (%identity, %x) {accumulate = 0}
        nc.matmul (%q) = (%w, %h) {accumulate = 1}
        nc.activation (%h) = (%q) {func = "tanh"}
    """

    name = "nc-sum-in-psum"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the innermost loops of the module, which must be in phase virtual."""
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        count = 0
        if "F32" in machine.matmul_dtypes:
            with bodies_in_place(op):
                for func in functions(op):
                    identity = _Identity(op, func, machine)
                    for loop in [o for o in walk(func) if isinstance(o, LoopOp)]:
                        block = body_of(loop)
                        if not any(isinstance(o, LoopOp) for o in ops_of(block)):
                            count += _Loop(func, block, machine).run(identity)
        record(self.name, "sums in PSUM", count)


class _Identity:
    """The identity matrix of a function, loaded when it is first needed."""

    def __init__(self, module: ModuleOp, func: FuncOp, machine: Machine) -> None:
        self.module, self.func, self.size = module, func, machine.partitions
        self._buffer: SSAValue | None = None

    def view(self, start: int, partitions: int) -> View:
        """Return the identity matrix on some partitions."""
        if self._buffer is None:
            self._buffer = self._load()
        return View(self._buffer, start, partitions, ((1, partitions),), start)

    def _load(self) -> SSAValue:
        n, taken = self.size, variables(self.module)
        name = next(s for i in range(len(taken) + 1) if (s := f"identity.sums.{i}") not in taken)
        value = intern(np.eye(n, dtype=np.float32))
        type_ = MemRefType(f32, [n, n], memory_space=HBM)
        variable = VariableOp.make(name, "constant", type_, value=value)
        first = self.func.body.block.first_op
        assert first is not None
        self.module.body.block.insert_op_before(variable, self.func)
        address = AddressOfOp.make(variable)
        buffer = AllocOp.make(MemRefType(f32, [n, n], memory_space=SBUF), "constant")
        address.buffer.name_hint = buffer.buffer.name_hint = "identity"
        dst = View(buffer.buffer, 0, n, ((1, n),))
        load = build(
            INSTRUCTION_OPS["dma"],
            [dst],
            [View(address.buffer, 0, n, ((1, n),), partition_stride=n)],
        )
        self.func.body.block.insert_ops_before([address, buffer, load], first)
        return buffer.buffer


@dataclass(frozen=True)
class _Sum:
    """An addition to a product: its summand, the product in PSUM, and the matmuls that compute it.

    `readers` are the users of the sum, as (instruction, role).
    """

    op: InstructionOp
    summand: View
    product: View
    result: View
    matmuls: tuple[InstructionOp, ...]
    readers: tuple[tuple[InstructionOp, int], ...]

    @property
    def width(self) -> int:
        """The elements in a partition."""
        return _elements(self.product)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for summands that differ by their offset only."""
        v = self.summand
        return v.buffer, v.indices, v.start, v.partitions, v.free


class _Loop:
    """The body of an innermost loop."""

    def __init__(self, func: FuncOp, block: Block, machine: Machine) -> None:
        self.func = func
        self.block = block
        self.machine = machine
        self.ops = [op for op in ops_of(block) if isinstance(op, InstructionOp)]
        self.place = {op: i for i, op in enumerate(self.ops)}
        self.touches: dict[SSAValue, list[tuple[InstructionOp, int, View]]] = {}
        self.written: set[SSAValue] = set()
        for op in self.ops:
            for role, view in enumerate(op.views()):
                if view is not None:
                    self.touches.setdefault(view.buffer, []).append((op, role, view))
                    if role < len(op.spec.dst):
                        self.written.add(view.buffer)

    def run(self, identity: _Identity) -> int:
        """Rewrite the sums of the loop; return their number."""
        sums = [s for op in self.ops if (s := self._sum(op)) is not None]
        groups = list(self._groups(sums))
        if not groups:
            return 0
        made = [self._start(group, identity) for group in groups]
        added = sum(cost(_record(op), self.machine).issue_ns for _, op in made)
        gone = {s.op for s in sums}
        gone |= {op for s in sums for op in s.matmuls}
        if (
            added > self._waits({s.op for s in sums})
            or not self._allowed(groups, made)
            or not share_banks(self.func, self.machine.psum_banks - ROUNDS * len(groups), gone)
        ):
            for _, op in made:
                op.erase()
            return 0
        first = min((op for s in sums for op in s.matmuls), key=lambda op: self.place[op])
        self.block.insert_ops_before([op for pair in made for op in pair], first)
        for group, (bank, _) in zip(groups, made, strict=True):
            self._write(group, bank)
        return len(sums)

    def _sum(self, op: InstructionOp) -> _Sum | None:
        """Match an addition of an early value to a product that depends on the loop."""
        if op.opcode() != "tensor_tensor" or FINITE not in op.attributes:
            return None
        result, first, second = op.views()
        if op.param_values()["op"] != AluOp.ADD or not (result and first and second):
            return None
        pair = (first, second) if space_of(second.buffer) is Space.PSUM else (second, first)
        summand, product = pair
        spaces = [space_of(v.buffer) for v in (result, summand, product)]
        if spaces != [Space.SBUF, Space.SBUF, Space.PSUM] or summand.buffer in self.written:
            return None
        if not all(_is_f32(v) for v in (result, summand, product)) or len(summand.free) > DIMS:
            return None
        if not (_dense(result) and _dense(product)) or result.free != product.free:
            return None
        if not summand.start == product.start == result.start:
            return None
        matmuls = self._product(op, product)
        readers = self._readers(op, result)
        if not matmuls or not readers:
            return None
        return _Sum(op, summand, product, result, matmuls, readers)

    def _product(self, op: InstructionOp, product: View) -> tuple[InstructionOp, ...]:
        """Return the matmuls that compute all of a product, if only the sum reads it."""
        found: list[InstructionOp] = []
        filled = 0
        for other, role, view in self.touches[product.buffer]:
            if other is op:
                continue
            if not isinstance(other, _MATMUL) or role or self.place[other] > self.place[op]:
                return ()
            low, high = view.offset, view.offset + _elements(view)
            inside = product.offset <= low and high <= product.offset + _elements(product)
            if not inside or not _dense(view) or not _is_f32(view):
                return ()
            if (view.start, view.partitions) != (product.start, product.partitions):
                return ()
            filled += 0 if other.param_values()["accumulate"] else _elements(view)
            found.append(other)
        carried = all(any(v and v.buffer in self.written for v in m.src_views()) for m in found)
        return tuple(found) if carried and filled == _elements(product) else ()

    def _readers(self, op: InstructionOp, result: View) -> tuple[tuple[InstructionOp, int], ...]:
        """Return the users of a sum, if they are activations of the same iteration."""
        owner = result.buffer.owner
        if not isinstance(owner, AllocOp) or owner.parent is not self.block:
            return ()
        if len(list(result.buffer.uses)) != len(self.touches[result.buffer]):
            return ()
        found: list[tuple[InstructionOp, int]] = []
        for other, role, view in self.touches[result.buffer]:
            if other is op:
                continue
            if role < len(other.spec.dst) or self.place[other] < self.place[op]:
                return ()
            if other.opcode() != "activation" or other.param_values()["func"] not in _SATURATES:
                return ()
            if not _is_f32(view) or view.indices:
                return ()
            found.append((other, role))
        return tuple(found)

    def _groups(self, sums: Sequence[_Sum]) -> Iterator[list[_Sum]]:
        """Yield the sums whose summands are in equal distances and fit in a bank together."""
        limit = self.machine.psum_bank_bytes // 4
        numbers: dict[tuple[object, ...], int] = {}
        order = {id(s): numbers.setdefault(s.key, len(numbers)) for s in sums}
        ordered = sorted(sums, key=lambda s: (order[id(s)], s.summand.offset))
        for _, equal in groupby(ordered, key=lambda s: order[id(s)]):
            group: list[_Sum] = []
            for s in equal:
                step = s.summand.offset - group[-1].summand.offset if group else 0
                same = len(group) < 2 or (group[1].summand.offset - group[0].summand.offset == step)
                if group and (not same or not step or s.width * (len(group) + 1) > limit):
                    yield group
                    group = []
                group.append(s)
            yield group

    def _start(self, group: Sequence[_Sum], identity: _Identity) -> tuple[AllocOp, InstructionOp]:
        """Return a bank and the matmul that puts the summands of a group there."""
        m, first = self.machine, group[0].summand
        columns = m.psum_bank_bytes // 4
        bank = AllocOp.make(MemRefType(f32, [m.partitions, columns], memory_space=PSUM))
        bank.buffer.name_hint = group[0].product.buffer.name_hint
        free = first.free
        if len(group) > 1:
            free = ((group[1].summand.offset - first.offset, len(group)), *free)
        width = group[0].width * len(group)
        dst = View(bank.buffer, first.start, first.partitions, ((1, width),))
        moving = replace(first, free=free)
        op = build(
            _MATMUL,
            [dst],
            [identity.view(first.start, first.partitions), moving],
            {"accumulate": 0},
            engine=Engine.PE,
            location=of_op_alone(group[0].op.location),
        )
        op.attributes[EARLY] = UnitAttr()
        return bank, op

    def _waits(self, gone: set[InstructionOp]) -> float:
        """Return the ns from the products of an iteration to the operands of the next ones.

        This is the longest chain of instructions of other engines, without the sums `gone`.
        """
        ready: dict[SSAValue, float] = {}
        longest = 0.0
        read = {v.buffer for op in self.ops if isinstance(op, _MATMUL) for v in op.src_views() if v}
        for op in self.ops:
            begin = max((ready.get(v.buffer, 0.0) for v in op.src_views() if v), default=0.0)
            if isinstance(op, _MATMUL):
                done = cost(_record(op), self.machine)
                begin = done.latency_ns - done.issue_ns + self.machine.semaphore_latency_ns
            elif op not in gone:
                begin += cost(_record(op), self.machine).latency_ns
                begin += self.machine.semaphore_latency_ns
            for view in op.dst_views():
                if view is not None:
                    ready[view.buffer] = begin
                    longest = max(longest, begin if view.buffer in read else 0.0)
        return longest

    def _allowed(
        self, groups: Sequence[Sequence[_Sum]], made: Sequence[tuple[AllocOp, InstructionOp]]
    ) -> bool:
        """Return whether the machine allows the new instructions."""
        unused: list[InstructionOp] = []
        for group, (bank, start) in zip(groups, made, strict=True):
            unused += self._rewritten(group, bank).values()
            if list(violations(_record(start), self.machine)):
                return False
        allowed = not any(list(violations(_record(op), self.machine)) for op in unused)
        for op in unused:
            op.erase()
        return allowed

    def _rewritten(
        self, group: Sequence[_Sum], bank: AllocOp
    ) -> dict[InstructionOp, InstructionOp]:
        """Return the matmuls and readers of some sums with the bank as an operand."""
        views: dict[InstructionOp, dict[int, View]] = {}
        for i, s in enumerate(group):
            low = i * s.width
            for op in s.matmuls:
                views.setdefault(op, {})[0] = _moved(op.views()[0], s.product, bank, low)
            for op, role in s.readers:
                views.setdefault(op, {})[role] = _moved(op.views()[role], s.result, bank, low)
        return {op: with_views(op, changed) for op, changed in views.items()}

    def _write(self, group: Sequence[_Sum], bank: AllocOp) -> None:
        """Let products accumulate in a bank that holds their summands, in place of the sums."""
        new = self._rewritten(group, bank)
        matmuls = {op for s in group for op in s.matmuls}
        for old, op in new.items():
            if old in matmuls:
                op.properties["params"] = params_attr("matmul", {"accumulate": 1})
            self.block.insert_op_before(op, old)
        buffers: set[SSAValue] = set()
        for old in [*new, *(s.op for s in group)]:
            buffers |= {v.buffer for v in old.views() if v is not None}
            old.detach()
            old.erase()
        for buffer in buffers:
            owner = buffer.owner
            if isinstance(owner, AllocOp) and not list(buffer.uses):
                owner.detach()
                owner.erase()


def _moved(view: View | None, whole: View, bank: AllocOp, low: int) -> View:
    """Return a part of `whole` as a part of a bank, whose first element is `low`."""
    assert view is not None
    return replace(view, buffer=bank.buffer, offset=view.offset - whole.offset + low, dtype="")


def _record(op: InstructionOp) -> Instruction:
    numbers = dict.fromkeys(op.operands, 0)
    return instruction_record(op, numbers, numbers)


def _elements(view: View) -> int:
    return prod(size for _, size in view.free)


def _dense(view: View) -> bool:
    """Return whether the elements of a view are contiguous, and do not depend on loops."""
    step = 1
    for stride, size in reversed(view.free):
        if stride != step:
            return False
        step *= size
    return not view.indices


def _is_f32(view: View) -> bool:
    assert isinstance(view.buffer.type, MemRefType)
    return view.dtype in ("", "f32") and view.buffer.type.element_type == f32
