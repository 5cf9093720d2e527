"""Run a block of hlo ops that is decoded once; dead values are freed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.hlo.semantics.registry import Bound, bind, shape_and_dtype, unsupported

# Receives the result of each op and returns the value to continue with.
Observer: TypeAlias = Callable[[Operation, Value], Value]
# Receives each operand of an op and returns the value that the op reads.
Reader: TypeAlias = Callable[[Operation, Value], Value]
_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)
_READER: ContextVar[Reader | None] = ContextVar("reader", default=None)


@contextmanager
def observing(observer: Observer, reader: Reader | None = None) -> Iterator[None]:
    """Observe every op of every block, except in reducers, while the context is active.

    `observer` receives the result of each op, and `reader` each operand before the op reads it.
    """
    tokens = _OBSERVER.set(observer), _READER.set(reader)
    try:
        yield
    finally:
        _OBSERVER.reset(tokens[0])
        _READER.reset(tokens[1])


_TERMINATORS = frozenset(("hlo.return", "func.return", "scf.yield", "scf.condition"))
_CLOSURES = frozenset(("scf.for", "scf.while"))
"""Ops whose regions read values from around them, and that may have several results."""


def captured(op: Operation) -> tuple[SSAValue, ...]:
    """Return the outer values that the regions of an op read, in the order of first use."""
    found: dict[SSAValue, None] = {}
    inside: set[SSAValue] = set()
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.args)
            for inner in block.ops:
                for value in (*inner.operands, *captured(inner)):
                    if value not in inside:
                        found[value] = None
                inside.update(inner.results)
    return tuple(found)


def read_by(op: Operation) -> tuple[SSAValue, ...]:
    """Return the values that an op reads: its operands, and for a loop the values its body
    reads.
    """
    return (*op.operands, *captured(op)) if op.name in _CLOSURES else tuple(op.operands)


class BlockPlan:
    """The ops of one block as functions over numbered slots.

    The plan is a snapshot of the block: make a new one after changing the IR. With `pointwise`,
    every value represents a batch of scalars, so results may have more dimensions than declared.
    """

    def __init__(
        self, block: Block, *, pointwise: bool = False, outer: Sequence[SSAValue] = ()
    ) -> None:
        """Build the plan; `outer` are values from outside the block, passed as further
        arguments.
        """
        self._slots: dict[SSAValue, int] = {v: i for i, v in enumerate((*block.args, *outer))}
        self._steps: list[_Step] = []
        self._results: tuple[int, ...] = ()
        self._pointwise = pointwise
        operations = list(block.ops)
        for op in operations:
            if op.name in _TERMINATORS:
                self._results = tuple(self._slots[operand] for operand in op.operands)
                break
            self._steps.append(self._step(op))
        self._mark_last_uses(len(block.args))

    def _step(self, op: Operation) -> "_Step":
        inputs = []
        closure = op.name in _CLOSURES
        for operand in read_by(op):
            if operand not in self._slots:
                raise unsupported(op, f"'{op.name}' uses a value from outside its region")
            inputs.append(self._slots[operand])
        if len(op.results) != 1 and not closure:
            raise unsupported(op, f"'{op.name}' does not have one result")
        outputs = []
        for result in op.results:
            outputs.append(len(self._slots))
            self._slots[result] = outputs[-1]
        return _Step(op, tuple(inputs), tuple(outputs), check=not (self._pointwise or closure))

    def _mark_last_uses(self, arguments: int) -> None:
        seen = set(self._results)
        for step in reversed(self._steps):
            dead = {*step.inputs, *step.outputs} - seen
            step.dead = tuple(sorted(dead))
            seen |= dead

    def run(self, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """Return the values that the block returns."""
        slots: list[Any] = [None] * len(self._slots)
        slots[: len(arguments)] = arguments
        del arguments
        observer = None if self._pointwise else _OBSERVER.get()
        reader = None if self._pointwise else _READER.get()
        for step in self._steps:
            value = step.run(slots, reader)
            if len(step.outputs) == 1:
                slots[step.outputs[0]] = value if observer is None else observer(step.op, value)
            else:
                for slot, part in zip(step.outputs, value, strict=True):
                    slots[slot] = part
            for slot in step.dead:
                slots[slot] = None
        return tuple(slots[slot] for slot in self._results)


class _Step:
    """One op: the slots that it reads, the slots that it writes, and the slots that are dead after
    it.
    """

    __slots__ = ("_bound", "_check", "_dtype", "_shape", "dead", "inputs", "op", "outputs")

    def __init__(
        self, op: Operation, inputs: tuple[int, ...], outputs: tuple[int, ...], *, check: bool
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.dead: tuple[int, ...] = ()
        self._bound: Bound = bind(op)
        type_: Attribute | None = op.results[0].type if check else None
        self._check = isinstance(type_, TensorType)
        if isinstance(type_, TensorType):
            self._shape, self._dtype = shape_and_dtype(type_)

    def run(self, slots: list[Any], reader: Reader | None) -> Value:
        if reader is None:
            value = self._bound(*[slots[i] for i in self.inputs])
        else:
            value = self._bound(*[reader(self.op, slots[i]) for i in self.inputs])
        if isinstance(value, tuple):
            return value
        array = np.asarray(value)
        if self._check and (array.shape != self._shape or array.dtype != self._dtype):
            raise unsupported(
                self.op,
                f"'{self.op.name}' computed {array.dtype}{list(array.shape)}, "
                f"its type says {self._dtype}{list(self._shape)}: the operation is inconsistent",
            )
        return array
