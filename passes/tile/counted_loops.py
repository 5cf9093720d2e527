"""Rewrite `while` loops of the program as `scf.for` with carried tensors, and slices that move with
the iterations.
"""

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    i32,
)
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from neuronir.dialects.hlo.unary import CopyOp
from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.support.loops import LoopOp, final_values, while_loop
from neuronir.dialects.tile.ops import EmptyOp, IndexOp, ToIndexOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.counted_loop import CountedLoop, Linear, Part, counted_loop
from neuronir.passes.hlo.recurrences.whiles import replace_loop
from neuronir.passes.hlo.runtime_loop import RuntimeLoop, condition_loop, runtime_loop
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.hlo.while_carry import GTE
from neuronir.passes.tile.group import root_of
from neuronir.passes.tile.retile import slice_properties

ON_CHIP = 3 << 19
"""The largest array, in bytes, that an innermost loop reads or writes in SBUF, slice by slice."""
DEEPEST = 24 << 10
"""The largest part of such an array in a partition, in bytes."""


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * byte_size(element(value))


def _stays(value: SSAValue) -> bool:
    """Return whether SBUF may hold an array that a loop slices along its longest dimension."""
    shape, size = shape_of(value), _bytes(value)
    rows = min(PARTITIONS, prod(shape) // max(1, *shape))
    return size <= ON_CHIP and size <= rows * DEEPEST


def write_loops(block: Block) -> None:
    """Rewrite the loops of a block, including nested ones, as scf.for or scf.while.

    The upper bound of a scf.for whose trip count the program computes is a tile.to_index, and its
    counter is carried like its other states. A loop with another condition becomes a scf.while: the
    condition is computed before the loop and at the end of each iteration, and is a tile.to_index.
    """
    while (op := next((o for o in block.ops if o.name == "hlo.while"), None)) is not None:
        loop, kind = counted_loop(op), _Writer
        found = runtime_loop(op) if loop is None else None
        if loop is None and found is not None:
            loop = found.loop
        elif loop is None:
            loop, kind = condition_loop(op), _WhileWriter
        if loop is None:
            return  # lower-tile-to-nc refuses it
        if loop.written or loop.states:
            write_loops(kind(loop, found).write())
        else:  # It changes nothing; scf.for without results would count as an effect.
            replace_loop(loop, Emitter(op), _initial(loop))


def _initial(loop: CountedLoop) -> Callable[[int], SSAValue]:
    return lambda i: loop.parts.init[i]


class _Writer:
    """Rewrites one loop."""

    def __init__(self, loop: CountedLoop, runtime: RuntimeLoop | None) -> None:
        self.loop = loop
        self.runtime = runtime
        self.op = loop.parts.op
        self.body = Block(arg_types=[IndexType()])
        self.end = scf.YieldOp()
        self.body.add_op(self.end)
        self.values: dict[SSAValue, SSAValue] = {}
        self.carried = [*loop.written, *loop.states]
        self.slices: dict[int, SSAValue] = {}  # the replacements of written arrays

    def write(self) -> Block:
        """Build the new loop and its body."""
        loop, parts = self.loop, self.loop.parts
        begin = [self._begin(i) for i in self.carried]
        for v in begin:
            self.body.insert_arg(v.type, len(self.body.args))
        inside = dict(zip(self.carried, self.body.args[1:], strict=True))
        for use in list(parts.body.args[0].uses):
            i = integer(use.operation, "index")
            result = use.operation.results[0]
            if i == loop.counter:
                continue
            # an element that is not carried is invariant, or is only read by its own update and is
            # erased
            self.values[result] = inside.get(i, parts.init[i])
        end = parts.body.last_op
        assert end is not None
        for op in parts.body.ops:
            mine = op.name == GTE and op.operands[0] is parts.body.args[0]
            if not mine and op is not end and op is not end.operands[0].owner:
                self._op(op)
        last = [self.slices[i] if i in loop.written else self._next(i) for i in self.carried]
        new = self._loop(begin, last)
        self._before(new)
        results = dict(zip(self.carried, final_values(new), strict=True))
        replace_loop(
            loop, Emitter(self.op), lambda i: parts.init[i] if i in loop.kept else results[i]
        )
        return self.body

    def _loop(self, begin: list[SSAValue], last: list[SSAValue]) -> LoopOp:
        """Return the new loop; `last` are the carried values at the end of an iteration."""
        self._finish(last)
        low, step = self._outside(0), self._outside(1)
        count = self.loop.count
        high = self._outside(count) if self.runtime is None else self._count(self.runtime)
        return scf.ForOp(low, high, step, begin, Region(self.body))

    def _finish(self, last: list[SSAValue]) -> None:
        """End the body with a yield, without ops that nobody reads."""
        self._add(scf.YieldOp(*last))
        self.end.detach()
        for op in reversed(list(self.body.ops)):
            erase_dead(op)

    # around the loop

    def _before(self, op: Operation) -> Operation:
        assert self.op.parent is not None
        op.location = self.op.location
        self.op.parent.insert_op_before(op, self.op)
        return op

    def _outside(self, number: int) -> SSAValue:
        return self._before(arith.ConstantOp(IntegerAttr(number, IndexType()))).results[0]

    def _count(self, loop: RuntimeLoop) -> SSAValue:
        return self._before(ToIndexOp.make(loop.trip_count(Emitter(self.op)))).results[0]

    def _begin(self, index: int) -> SSAValue:
        init = self.loop.parts.init[index]
        if index in self.loop.written:
            memory = "sbuf" if self._keeps() and _stays(init) else "hbm"
            return self._before(EmptyOp.make(memory, init.type)).results[0]
        copy = CopyOp.create(operands=[init], result_types=[init.type])
        return self._before(copy).results[0]

    # in the body

    def _add(self, op: Operation, like: Operation | None = None) -> Operation:
        op.location = (like or self.op).location
        self.body.insert_op_before(op, self.end)
        return op

    def _op(self, op: Operation) -> None:
        for v in op.operands:
            self._counted(v)
        part = self.loop.part(op) if op.name == "hlo.dynamic_slice" else None
        if part is not None and part.at is not None and self._lies_outside(op.operands[0]):
            self.values[op.results[0]] = self._slice(op, part)
            return
        if op.name == "hlo.dynamic_update_slice":
            for i, written in self.loop.written.items():
                if self.loop.parts.next[i] is op.results[0]:
                    self.slices[i] = self._insert(op, i, written)
                    return
        copy = self._add(clone(op, self.values), op)
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = new

    def _counted(self, value: SSAValue) -> None:
        """If `value` is the counter of the old loop, compute it from the index of the new loop."""
        get = value.owner
        if value in self.values or not isinstance(get, Operation) or get.name != GTE:
            return
        number, type_ = self.loop.number, element(value)
        build = Emitter(self.end, source=get)
        found: SSAValue = self._add(IndexOp.make(self.body.args[0], type_), get).results[0]
        if number.factor != 1:
            found = build.binary("multiply", found, build.scalar(number.factor, type_))
        if number.first:
            found = build.binary("add", found, build.scalar(number.first, type_))
        self.values[value] = found

    def _lies_outside(self, value: SSAValue) -> bool:
        mine = self.values.get(value, value)
        return mine.owner is not self.body and getattr(mine.owner, "parent", None) is not self.body

    def _slice(self, op: Operation, part: Part) -> SSAValue:
        source, type_ = self._strip(self.values[op.operands[0]]), op.results[0].type
        offset, static = self._place(part)
        new = ExtractSliceOp.build(
            operands=[source, offset, [], []],
            result_types=[type_],
            properties=slice_properties(static, shape_of(op.results[0])),
        )
        return self._add(new, op).results[0]

    def _keeps(self) -> bool:
        """Return whether the loop should keep its arrays in SBUF: its iterations are short."""
        body = self.loop.parts.body
        innermost = not any(op.name == "hlo.while" for op in body.ops)
        nested = isinstance(self.op.parent_op(), LoopOp)
        return innermost and (nested or bool(self.loop.states))

    def _strip(self, source: SSAValue) -> SSAValue:
        """Return the array to slice: a copy of a small array, which is loaded at once."""
        outer = root_of(source).owner
        loaded = isinstance(outer, Block) or isinstance(outer, ExtractSliceOp)
        if not loaded or not self._keeps() or not _stays(source):
            return source
        for use in source.uses:
            if use.operation.name == "hlo.copy" and use.operation.parent is self.op.parent:
                found: SSAValue = use.operation.results[0]
                return found
        copy = CopyOp.create(operands=[source], result_types=[source.type])
        return self._before(copy).results[0]

    def _insert(self, op: Operation, index: int, part: Part) -> SSAValue:
        source, dest = self.values[op.operands[1]], self.values[op.operands[0]]
        if isinstance(source, BlockArgument):
            copy = CopyOp.create(operands=[source], result_types=[source.type])
            source = self._add(copy, op).results[0]
        offset, static = self._place(part)
        new = InsertSliceOp.build(
            operands=[source, dest, offset, [], []],
            result_types=[dest.type],
            properties=slice_properties(static, shape_of(source)),
        )
        return self._add(new, op).results[0]

    def _place(self, part: Part) -> tuple[list[SSAValue], list[int]]:
        static = list(part.starts)
        if part.at is None or part.dim is None:
            return [], static
        static[part.dim] = DYNAMIC_INDEX
        return [self._index(part.at)], static

    def _index(self, at: Linear) -> SSAValue:
        value: SSAValue = self.body.args[0]
        if at.factor != 1:
            factor = self._add(arith.ConstantOp(IntegerAttr(at.factor, IndexType()))).results[0]
            value = self._add(arith.MuliOp(value, factor)).results[0]
        if at.first:
            first = self._add(arith.ConstantOp(IntegerAttr(at.first, IndexType()))).results[0]
            value = self._add(arith.AddiOp(value, first)).results[0]
        return value

    def _next(self, index: int) -> SSAValue:
        """Return a carried value as a separate value, because others may read the source of a
        view.
        """
        value = self.loop.parts.next[index]
        self._counted(value)
        new = CopyOp.create(operands=[self.values.get(value, value)], result_types=[value.type])
        return self._add(new).results[0]


class _WhileWriter(_Writer):
    """Rewrites a loop whose condition is computed before each iteration."""

    def _loop(self, begin: list[SSAValue], last: list[SSAValue]) -> LoopOp:
        first = self._condition(dict(zip(self.carried, begin, strict=True)), Emitter(self.op))
        again = self._condition(dict(zip(self.carried, last, strict=True)), Emitter(self.end))
        self._finish([again, *last])
        return while_loop(first, begin, self.body)

    def _condition(self, states: dict[int, SSAValue], build: Emitter) -> SSAValue:
        """Compute the condition for some states, as an index."""
        parts = self.loop.parts
        values: dict[SSAValue, SSAValue] = {}
        for use in parts.cond.args[0].uses:
            i = integer(use.operation, "index")
            values[use.operation.results[0]] = states.get(i, parts.init[i])
        for op in parts.cond.ops:
            if op is not parts.cond.last_op and op.results[0] not in values:
                copy = build.insert(clone(op, values))
                copy.location = op.location
                values[op.results[0]] = copy.results[0]
        more = values.get(parts.cond_root, parts.cond_root)
        return build.insert(ToIndexOp.make(build.convert(more, i32))).results[0]
