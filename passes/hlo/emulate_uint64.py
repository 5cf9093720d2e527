"""hlo-emulate-uint64: compute 64-bit unsigned integers in pairs of u32."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import tuple_type
from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer, is_pred, is_unsigned
from neuronir.passes.hlo.integers import pairs
from neuronir.passes.hlo.integers.interface import pass_words
from neuronir.passes.hlo.integers.pairs import U32, Pair, is_wide
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.ranges.rules import INTEGER, RULES
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    producer,
    shape,
    size,
    splat,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import blocks, erase_dead, replace
from neuronir.passes.statistics import record

WORD = Interval(0, (1 << 32) - 1)
WHOLE = Interval(0, (1 << 64) - 1)


@dataclass(frozen=True)
class Wide:
    """A 64-bit value: its halves, and the interval of its elements."""

    pair: Pair
    range: Interval

    @property
    def is_word(self) -> bool:
        """Return whether the high half is zero."""
        return self.range.within(WORD)


def _word(e: Emitter, low: SSAValue, range_: Interval = WORD) -> Wide:
    return Wide(Pair(low, pairs.zeros_like(e, low)), range_)


@dataclass
class _Emulation:
    """Halves of the 64-bit values of a module."""

    known: dict[SSAValue, Wide] = field(default_factory=dict)
    count: int = 0

    def run(self, block: Block) -> None:
        """Compute the 64-bit values of a block in halves, as far as there are rules."""
        visited = []
        for op in tuple(block.ops):
            if any(map(is_wide, (*op.operands, *op.results))) or op.name == _GENERATOR:
                visited.append(op)
                self._visit(op)
        for op in reversed(visited):
            if op.parent is not None:
                erase_dead(op)

    def _visit(self, op: Operation) -> None:
        if op.name == "hlo.get_tuple_element":
            self._element(op)
            return
        rule = _rule_of(op)
        wide = [v for v in op.operands if is_wide(v)]
        if rule is None or any(v not in self.known for v in wide):
            return
        e = Emitter(op)
        value = rule(op, [self.known[v] for v in wide], e)
        if value is None:
            return
        self.count += 1
        if isinstance(value, Wide):
            self.known[op.results[0]] = value
        elif op.name == _GENERATOR:
            self._generated(op, value, e)
        else:
            replace(op, value)

    def _element(self, op: Operation) -> None:
        made = producer(op.operands[0], "tuple")
        source = None if made is None else self.known.get(made.operands[integer(op, "index")])
        if source is not None and is_wide(op.results[0]):
            self.known[op.results[0]] = source

    def _generated(self, op: Operation, value: SSAValue, e: Emitter) -> None:
        """Replace the tuple elements that the users of a generator read by its results."""
        for use in tuple(op.results[0].uses):
            user = use.operation
            part = e.tuple_element(value, integer(user, "index"))
            if is_wide(user.results[0]):
                dims = (*shape(user.results[0]), 2)
                pair = pairs.split(e, e.reshape(part, dims))
                self.known[user.results[0]] = Wide(pair, WHOLE)
            else:
                replace(user, part)


Rule = Callable[[Operation, Sequence[Wide], Emitter], Wide | SSAValue | None]
"""Returns the halves of a u64 result, or the value of another result; None if not supported."""

_GENERATOR = "hlo.rng_bit_generator"


def _constant(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide:
    array = constant_array(op).astype(np.uint64)
    halves = (array & np.uint64(0xFFFFFFFF), array >> np.uint64(32))
    pair = Pair(*(e.constant(half.astype(np.uint32)) for half in halves))
    if not array.size:
        return Wide(pair, WORD)
    return Wide(pair, Interval(int(array.min()), int(array.max())))


def _iota(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide:
    low = e.like(op, [], tensor(shape(op.results[0]), U32))
    return _word(e, low, Interval(0, max((*shape(op.results[0]), 1)) - 1))


def _moved(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | SSAValue | None:
    """Apply an op that moves elements, or combines bits of the same place, to each half."""
    known = {v: value for v, value in zip(filter(is_wide, op.operands), x, strict=True)}
    first = _INDICES.get(op.name.removeprefix("hlo."), len(op.operands))
    indices = []
    for index in op.operands[first:]:
        if is_wide(index) and not known[index].is_word:
            return None
        indices.append(known[index].pair.low if is_wide(index) else index)
    data = op.operands[:first]
    if not is_wide(op.results[0]):
        return e.like(op, [*data, *indices], op.results[0].type)
    halves = []
    for name in ("low", "high"):
        operands = [getattr(known[v].pair, name) if is_wide(v) else v for v in data]
        type_ = tensor(shape(op.results[0]), U32)
        halves.append(e.like(op, [*operands, *indices], type_))
    return Wide(Pair(*halves), _interval(op, x))


_INDICES = {"dynamic_slice": 1, "dynamic_update_slice": 2, "gather": 1}
"""The first index among the operands, by opcode."""


def _interval(op: Operation, x: Sequence[Wide]) -> Interval:
    """Return the interval of the result; that of the type if the result may wrap."""
    opcode = op.name.removeprefix("hlo.")
    rule = RULES.get(opcode) or INTEGER.get(opcode)
    if rule is None:
        return WHOLE
    ranges = iter([value.range for value in x])
    found = rule(op, [next(ranges) if is_wide(v) else WHOLE for v in op.operands])
    return found if found is not None and found.within(WHOLE) else WHOLE


def _arithmetic(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | None:
    range_ = _interval(op, x)
    opcode = op.name.removeprefix("hlo.")
    if range_.within(WORD) and all(value.is_word for value in x):
        operands = [value.pair.low for value in x]
        return _word(e, e.emit(opcode, operands, operands[0].type), range_)
    combine = _COMBINE.get(opcode)
    if combine is not None:
        return Wide(combine(e, x[0].pair, x[1].pair), range_)
    if opcode in ("maximum", "minimum"):
        chosen = pairs.compare(e, x[0].pair, x[1].pair, "GE" if opcode == "maximum" else "LE")
        halves = ((x[0].pair.low, x[1].pair.low), (x[0].pair.high, x[1].pair.high))
        return Wide(Pair(*(e.select(chosen, a, b) for a, b in halves)), range_)
    return None


def _divide(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | None:
    """Divide words. All 64 bits of x / 0 are ones."""
    found = _arithmetic(op, x, e)
    if found is None or x[1].range.low > 0:
        return found
    zero = e.compare_number(x[1].pair.low, 0, "EQ")
    high = found.pair.high
    ones = e.fill_like(WORD.high, high)
    return Wide(Pair(found.pair.low, e.select(zero, ones, high)), WHOLE)


_COMBINE: Mapping[str, Callable[[Emitter, Pair, Pair], Pair]] = {
    "add": pairs.add,
    "subtract": pairs.subtract,
    "multiply": pairs.multiply,
}


def _shift(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | None:
    amount = splat(op.operands[1])
    if amount is None:
        return None
    pair = pairs.shift(e, op.name.removeprefix("hlo."), x[0].pair, int(amount))
    return Wide(pair, _interval(op, x))


def _compare(op: Operation, x: Sequence[Wide], e: Emitter) -> SSAValue:
    direction = string(op, "direction")
    if all(value.is_word for value in x):
        return e.compare(x[0].pair.low, x[1].pair.low, direction)
    return pairs.compare(e, x[0].pair, x[1].pair, direction)


def _convert(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | SSAValue | None:
    operand, result = op.operands[0], op.results[0]
    if not is_wide(operand):
        return _extended(operand, e)
    type_ = element(result)
    if is_wide(result):
        return x[0]
    if is_pred(type_):
        either = e.binary("or", x[0].pair.low, x[0].pair.high)
        return e.compare_number(either, 0, "NE")
    if is_float(type_):
        # A sum of the halves would be rounded twice.
        return e.convert(x[0].pair.low, type_) if x[0].is_word else None
    if not is_integer(type_) or byte_size(type_) > 4:
        return None
    return e.convert(x[0].pair.low, type_)


def _extended(value: SSAValue, e: Emitter) -> Wide | None:
    """Convert integers of at most 32 bits: with zeros, or with the sign."""
    type_ = element(value)
    if is_pred(type_) or (is_unsigned(type_) and byte_size(type_) <= 4):
        most = 1 if is_pred(type_) else (1 << (8 * byte_size(type_))) - 1
        return _word(e, e.convert(value, U32), Interval(0, most))
    if not is_integer(type_) or byte_size(type_) > 4:
        return None
    signed = e.convert(value, i32)
    signs = e.binary_number("shift_right_arithmetic", signed, 31)
    return Wide(Pair(e.bitcast(signed, U32), e.bitcast(signs, U32)), WHOLE)


def _bitcast(op: Operation, x: Sequence[Wide], e: Emitter) -> Wide | SSAValue | None:
    operand, result = op.operands[0], op.results[0]
    narrow = operand if is_wide(result) else result
    if is_wide(operand) and is_wide(result):
        return x[0]
    if byte_size(element(narrow)) != 4:
        return None
    if is_wide(result):
        return Wide(pairs.split(e, e.bitcast(operand, U32)), WHOLE)
    return e.bitcast(pairs.join(e, x[0].pair), element(narrow))


def _generator(op: Operation, x: Sequence[Wide], e: Emitter) -> SSAValue | None:
    """Generate with the state, and bits of 64 bits, as words of u32: the same stream."""
    type_ = op.results[0].type
    if not isinstance(type_, TupleType) or not all(
        use.operation.name == "hlo.get_tuple_element" for use in op.results[0].uses
    ):
        return None
    state = op.operands[0]
    if x:
        state = e.reshape(pairs.join(e, x[0].pair), (2 * size(state),))
    elif byte_size(element(state)) != 4:
        return None
    bits = type_.types.data[1]
    assert isinstance(bits, TensorType)
    if byte_size(bits.element_type) == 8:
        if not is_unsigned(bits.element_type):
            return None
        bits = tensor((2 * int(np.prod(bits.get_shape())),), U32)
    elif not x:
        return None
    return e.like(op, [state], tuple_type([state.type, bits]))


_RULES: Mapping[str, Rule] = {
    "constant": _constant,
    "iota": _iota,
    "convert": _convert,
    "bitcast_convert": _bitcast,
    "compare": _compare,
    "rng_bit_generator": _generator,
    **dict.fromkeys(("shift_left", "shift_right_logical"), _shift),
    **dict.fromkeys("add subtract multiply remainder maximum minimum power".split(), _arithmetic),
    "divide": _divide,
    **dict.fromkeys(
        "broadcast reshape transpose slice reverse copy concatenate pad dynamic_slice "
        "dynamic_update_slice gather select and or xor not optimization_barrier".split(),
        _moved,
    ),
}


def _rule_of(op: Operation) -> Rule | None:
    return _RULES.get(op.name.removeprefix("hlo."))


@dataclass(frozen=True)
class HloEmulateUint64Pass(ModulePass):
    """Compute 64-bit unsigned integers exactly, as pairs of u32.

    Each u64 value becomes two u32 values, its low and its high half:

        %a = hlo.add %x, %y : tensor<4xui64>

        %low = hlo.add %x_low, %y_low : tensor<4xui32>
        %less = hlo.compare %low, %x_low direction = LT : (tensor<4xui32>, ...) -> tensor<4xi1>
        ...

    An interval analysis finds the values that fit in 32 bits. They are computed in u32, with a
    high half of zeros, so the counters of Threefry in JAX programs cost no more than u32 ones.

    Supported are constants, iota, data movement, bitwise ops, shifts by constants, add, subtract,
    multiply, compare, maximum, minimum, conversions of integers, bit casts from and to u32, and
    rng_bit_generator; and further arithmetic of values that fit in 32 bits. Other u64 ops are
    not changed, and hlo-verify-supported refuses them. Needs inlined calls.

    Arguments and results of the entry become u32[..., 2], the low half first. Module attributes
    keep their types, and the runtime converts the arrays.
    """

    name = "hlo-emulate-uint64"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass_words(op)
        emulation = _Emulation()
        for block in tuple(blocks(op)):
            emulation.run(block)
        record(self.name, "emulated", emulation.count)
