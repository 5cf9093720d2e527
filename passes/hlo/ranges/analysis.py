"""Compute the intervals of all values of a function, and find where 64-bit integers overflow."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.support.dtypes import is_float, is_pred, is_unsigned, np_dtype
from neuronir.dialects.support.walking import walk
from neuronir.passes.hlo.counted_loop import counted_loop
from neuronir.passes.hlo.ranges.interval import ALL, BOOL, Interval, hull, widened
from neuronir.passes.hlo.ranges.rules import FLOAT, INTEGER, RULES
from neuronir.passes.hlo.support.values import integer, is_tensor

Ranges = Interval | tuple["Ranges", ...]
"""The interval of a tensor, or those of the elements of a tuple."""

_EXACT = frozenset(
    "broadcast reshape transpose slice reverse copy gather dynamic_slice bitcast concatenate pad "
    "dynamic_update_slice select maximum minimum clamp sort abs negate constant iota".split()
)
"""Opcodes that do not round."""


def is_wide(type_: Attribute) -> bool:
    """Return whether an element type is a 64-bit integer."""
    return isinstance(type_, IntegerType) and type_.width.data == 64


def limits(type_: Attribute) -> Interval:
    """Return the interval of an element type; 64-bit integers are assumed to fit in 32 bits."""
    if is_pred(type_):
        return BOOL
    if not isinstance(type_, IntegerType):
        return ALL
    held = np_dtype(type_)
    if is_wide(type_):
        held = np.dtype(np.uint32 if is_unsigned(type_) else np.int32)
    info = ml_dtypes.iinfo(held)
    return Interval(int(info.min), int(info.max))


def _top(type_: Attribute) -> Ranges:
    """Return the interval of all values of a type."""
    if isinstance(type_, TupleType):
        return tuple(_top(t) for t in type_.types.data)
    return limits(type_.element_type) if isinstance(type_, TensorType) else ALL


def _joined(a: Ranges, b: Ranges) -> Ranges:
    if isinstance(a, Interval) and isinstance(b, Interval):
        return hull((a, b))
    assert isinstance(a, tuple) and isinstance(b, tuple)
    return tuple(_joined(x, y) for x, y in zip(a, b, strict=True))


def _wide_anywhere(type_: Attribute) -> bool:
    if isinstance(type_, TupleType):
        return any(_wide_anywhere(t) for t in type_.types.data)
    return isinstance(type_, TensorType) and is_wide(type_.element_type)


def feeding(block: Block, wanted: Callable[[Operation], bool]) -> frozenset[Operation]:
    """Return the requested ops of a block, the ops around them, and everything they depend on."""
    needed: set[Operation] = set()
    pending = [op for op in block.ops if any(wanted(inner) for inner in walk(op))]
    while pending:
        op = pending.pop()
        if op in needed or op.parent is not block:
            continue
        needed.add(op)
        pending.extend(v.op for v in op.operands if isinstance(v, OpResult))
    return frozenset(needed)


@dataclass
class Analysis:
    """Computes intervals of values; run on the block of a function with those of its arguments.

    `needed` are the ops of that block to analyse (other ops have the interval of their type).
    `constants` caches the intervals of constants between runs. `indices` are the ops that compute
    positions and ends from the iteration of a counted loop. `overflows` lists the ops whose
    64-bit integers may exceed 32 bits, in program order; their results are assumed to fit.
    """

    needed: frozenset[Operation] | None = None
    constants: dict[Operation, Interval] = field(default_factory=dict)
    values: dict[SSAValue, Ranges] = field(default_factory=dict)
    overflows: list[Operation] = field(default_factory=list)
    indices: set[Operation] = field(default_factory=set)

    def run(self, block: Block, arguments: Sequence[Ranges]) -> Ranges:
        """Return the intervals of the returned values."""
        self.values.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op.name in ("hlo.return", "func.return"):
                return self.of(op.operands[0])
            if self.needed is None or op.parent is not None and self._counts(op):
                found = self._op(op)
                for result, ranges in zip(op.results, found, strict=True):
                    self.values[result] = ranges
        raise ValueError("the block does not return")

    def _counts(self, op: Operation) -> bool:
        assert self.needed is not None
        parent = op.parent_op()
        return parent is None or parent.name != "func.func" or op in self.needed

    def of(self, value: SSAValue) -> Ranges:
        """Return the intervals of the value."""
        found = self.values.get(value)
        return _top(value.type) if found is None else found

    def _op(self, op: Operation) -> list[Ranges]:
        special = _SPECIAL.get(op.name.removeprefix("hlo."))
        if special is not None:
            return [special(self, op)]
        if len(op.results) != 1 or not is_tensor(op.results[0]):
            return [self._unknown(op, result.type) for result in op.results]
        operands = [self.of(v) for v in op.operands]
        intervals = [x for x in operands if isinstance(x, Interval)]
        found = self._by_rule(op, intervals) if len(intervals) == len(operands) else None
        if found is None and op.regions:
            found = self._by_region(op, intervals)
        return [self._typed(op, found)]

    def _by_rule(self, op: Operation, operands: Sequence[Interval]) -> Interval | None:
        opcode = op.name.removeprefix("hlo.")
        rule = RULES.get(opcode)
        if rule is None:
            type_ = op.results[0].type
            assert isinstance(type_, TensorType)
            rule = (FLOAT if is_float(type_.element_type) else INTEGER).get(opcode)
        return None if rule is None else rule(op, operands)

    def _by_region(self, op: Operation, operands: Sequence[Interval]) -> Interval | None:
        """Return the interval of a one-input reduction: that of its start and its elements.

        The region must keep values within that interval.
        """
        if op.name not in ("hlo.reduce", "hlo.reduce_window", "hlo.scatter") or not operands:
            return None
        both = hull((operands[0], operands[-1]))
        inner = Analysis(constants=self.constants)
        found = inner.run(op.regions[0].block, [both] * len(op.regions[0].block.args))
        kept = isinstance(found, Interval) and found.within(both) and not inner.overflows
        return both if kept else None

    def _unknown(self, op: Operation, type_: Attribute) -> Ranges:
        if _wide_anywhere(type_):
            self.overflows.append(op)
        return _top(type_)

    def _typed(self, op: Operation, found: Interval | None) -> Interval:
        """Return the interval as represented in the result's type."""
        type_ = op.results[0].type
        assert isinstance(type_, TensorType)
        element = type_.element_type
        whole = limits(element)
        if found is None:
            if is_wide(element):
                self.overflows.append(op)
            return whole
        if is_float(element):
            if op.name.removeprefix("hlo.") in _EXACT:
                return found
            info = ml_dtypes.finfo(np_dtype(element))
            wider = widened(found, 8 * float(info.eps))
            most = float(info.max)
            return Interval(
                -math.inf if wider.low < -most else wider.low,
                math.inf if wider.high > most else wider.high,
            )
        if found.within(whole):
            return found
        if not is_wide(element):
            return whole  # wraps in any width
        self.overflows.append(op)
        low, high = max(found.low, whole.low), min(found.high, whole.high)
        return Interval(low, high) if low <= high else whole

    # --- ops that are not a rule on intervals

    def _constant(self, op: Operation) -> Ranges:
        found = self.constants.get(op)
        if found is None:
            found = self._of_array(op)
            self.constants[op] = found
        return found

    def _of_array(self, op: Operation) -> Interval:
        type_ = op.results[0].type
        assert isinstance(type_, TensorType)
        whole = limits(type_.element_type)
        array = constant_array(op)
        if not array.size or array.dtype.kind == "c":
            return whole
        if not is_float(type_.element_type):
            low, high = int(array.min()), int(array.max())
            # A constant beyond 32 bits is a separate error, or saturates.
            return Interval(
                min(max(low, whole.low), whole.high), max(min(high, whole.high), whole.low)
            )
        numbers = array.astype(np.float64)
        numbers = numbers[~np.isnan(numbers)]
        return Interval(float(numbers.min()), float(numbers.max())) if numbers.size else whole

    def _convert(self, op: Operation) -> Ranges:
        operand = self.of(op.operands[0])
        assert isinstance(operand, Interval)
        type_ = op.results[0].type
        assert isinstance(type_, TensorType)
        if is_float(type_.element_type) or is_pred(type_.element_type):
            return self._typed(op, operand)
        ends = (n if math.isinf(n) else math.trunc(n) for n in (operand.low, operand.high))
        return self._typed(op, Interval(*ends))

    def _tuple(self, op: Operation) -> Ranges:
        return tuple(self.of(v) for v in op.operands)

    def _element(self, op: Operation) -> Ranges:
        whole = self.of(op.operands[0])
        assert isinstance(whole, tuple)
        return whole[integer(op, "index")]

    def _sort(self, op: Operation) -> Ranges:
        found = [self.of(v) for v in op.operands]
        return tuple(found) if isinstance(op.results[0].type, TupleType) else found[0]

    def _topk(self, op: Operation) -> Ranges:
        type_ = op.operands[0].type
        assert isinstance(type_, TensorType)
        return (self.of(op.operands[0]), Interval(0, max(type_.get_shape()[-1] - 1, 0)))

    def _conditional(self, op: Operation) -> Ranges:
        found: Ranges | None = None
        for region, operand in zip(op.regions, op.operands[1:], strict=True):
            block = region.block
            one = self.run(block, [self.of(operand)] if block.args else [])
            found = one if found is None else _joined(found, one)
        assert found is not None
        return found

    def _while(self, op: Operation) -> Ranges:
        """Return the ranges of the carried values of a loop: those of their types, except for a
        counter.
        """
        carried = _top(op.operands[0].type)
        loop = counted_loop(op)
        if loop is None or isinstance(carried, Interval):
            for region in op.regions:
                self.run(region.block, [carried])
            return carried
        begin, end = loop.number.ends(loop.count + 1)
        last = end - loop.number.factor

        def counted(*numbers: int) -> Ranges:
            found = Interval(min(numbers), max(numbers))
            return (*carried[: loop.counter], found, *carried[loop.counter + 1 :])

        self.run(loop.parts.cond, [counted(begin, end)])
        self.run(loop.parts.body, [counted(begin, last)])
        self.indices.update(loop.parts.cond.ops)
        self.indices.update(op for op in loop.parts.body.ops if loop.indexes(op))
        return counted(end)

    def _composite(self, op: Operation) -> Ranges:
        """Return the interval of the result of the region, which defines the op."""
        return self.run(op.regions[0].block, [self.of(v) for v in op.operands])

    def _map(self, op: Operation) -> Ranges:
        found = self.run(op.regions[0].block, [self.of(v) for v in op.operands])
        assert isinstance(found, Interval)
        return found


_SPECIAL = {
    "constant": Analysis._constant,
    "convert": Analysis._convert,
    "tuple": Analysis._tuple,
    "get_tuple_element": Analysis._element,
    "sort": Analysis._sort,
    "topk": Analysis._topk,
    "conditional": Analysis._conditional,
    "while": Analysis._while,
    "map": Analysis._map,
    "composite": Analysis._composite,
}
