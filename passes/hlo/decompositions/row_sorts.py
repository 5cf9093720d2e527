"""Sorts of rows, where an engine compares 32-bit integers: composite `sort_rows` of s32 words.

A word says where an element goes, and what it is: the bits of a number in an order of integers.
Elements that the comparator takes for equal keep their order, so words that stand for several of
them count along the row: zeros of both signs, and NaN.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, string_attr
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer, is_pred, is_unsigned
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.decompositions import sorting
from neuronir.passes.hlo.decompositions.total_order import from_key, key_of
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter, property_attr
from neuronir.passes.hlo.support.values import (
    constant,
    element,
    integer,
    producer,
    shape,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import COMPOSITE, Rule

SORT_ROWS = "sort_rows"
"""sort_rows(x): the s32 numbers of each row (the last dimension, which is `axes`), rising."""
LONGEST = 8192
"""Elements of a row: a network has three buffers of them."""
_INFINITY = 0x7F800000
_QUIET_NAN = 0x7FC00000


@dataclass(frozen=True)
class _Order:
    """What a comparator of single elements does: from the largest down, if `falling`; zeros of both
    signs are equal and NaN, of any kind, the largest of all, if `merged`."""

    falling: bool
    merged: bool


def sort(op: Operation, e: Emitter) -> SSAValue | None:
    """A sort of one operand by its own order; others as where there are no such words."""
    parent = op.parent_op()
    if parent is not None and parent.name == COMPOSITE:
        return None  # it says what the composite means
    return _sorted(op, e) or sorting.sort(op, e)


def _sorted(op: Operation, e: Emitter) -> SSAValue | None:
    if len(op.operands) != 1:
        return None
    (x,) = op.operands
    axis, dims = integer(op, "dimension"), shape(x)
    if not 2 <= dims[axis] <= LONGEST or 0 in dims:
        return None
    order = _order(op.regions[0].block, is_float(element(x)))
    if order is None:
        return None
    last = [d for d in range(len(dims)) if d != axis] + [axis]
    rows = e.transpose(x, last)
    words = _words(rows, order, e)
    if words is None:
        return None
    done = _numbers(sort_rows(words, e), rows, order, e)
    return e.transpose(done, [last.index(d) for d in range(len(dims))])


def sort_rows(words: SSAValue, e: Emitter) -> SSAValue:
    """Composite `sort_rows`."""
    scalar = tensor((), i32)
    block = Block(arg_types=[scalar, scalar])
    less = OP_CLASSES["hlo.compare"].create(
        operands=block.args,
        result_types=[tensor((), i1)],
        properties={"direction": string_attr("LT")},
    )
    block.add_ops([less, OP_CLASSES["hlo.return"].create(operands=less.results)])
    axis = len(shape(words)) - 1
    properties = {"dimension": i64_attr(axis), "is_stable": property_attr(False)}
    done = e.emit("sort", [words], words.type, properties, [Region(block)])
    part = cut(done, [words])
    assert part is not None  # it was made here
    return wrap(part, SORT_ROWS, {"axes": i64_array([axis])})


def _order(block: Block, floats: bool) -> _Order | None:
    """The order of a comparator of two elements; None where it compares something else."""
    assert block.last_op is not None
    compare = producer(block.last_op.operands[0], "compare")
    if compare is None or string(compare, "direction") not in ("LT", "GT"):
        return None
    seen = [_element(v) for v in compare.operands]
    left, right = seen
    if left is None or right is None or {left.argument, right.argument} != {0, 1}:
        return None
    if (left.zeros, left.nans) != (right.zeros, right.nans):
        return None
    falling = (string(compare, "direction") == "GT") == (left.argument == 0)
    if not floats or string(compare, "compare_type") == "TOTALORDER" and not left.zeros:
        return None if left.nans else _Order(falling, merged=False)
    if string(compare, "compare_type") == "TOTALORDER" and not left.nans:
        return None
    return _Order(falling, merged=True)


@dataclass(frozen=True)
class _Seen:
    """An argument of a comparator, with its zeros or its NaN made one."""

    argument: int
    zeros: bool = False
    nans: bool = False


def _element(value: SSAValue) -> _Seen | None:
    """The argument that a value is, but for zeros and NaN; None where it is something else."""
    zeros = nans = False
    while isinstance(value, OpResult) and value.op.name == "hlo.select":
        test, instead, value = value.op.operands
        compare, number = producer(test, "compare"), constant(instead)
        if compare is None or number is None:
            return None
        argument, other = compare.operands
        direction = string(compare, "direction")
        if direction == "NE" and argument is other and np.isnan(number):
            nans = True
        elif direction == "EQ" and number == 0 and constant(other) == 0:
            zeros = True
        else:
            return None
        if not isinstance(argument, BlockArgument) or not _is_of(value, argument):
            return None
    return _Seen(value.index, zeros, nans) if isinstance(value, BlockArgument) else None


def _is_of(value: SSAValue, argument: SSAValue) -> bool:
    """Whether a chain of selections ends with an argument."""
    while isinstance(value, OpResult) and value.op.name == "hlo.select":
        value = value.op.operands[2]
    return value is argument


def _words(rows: SSAValue, order: _Order, e: Emitter) -> SSAValue | None:
    """s32 numbers in the order of the elements, no two that are equal for the comparator alike."""
    type_ = element(rows)
    if byte_size(type_) > 4:
        return None
    if not is_float(type_):
        word = _integers(rows, e)
    elif not order.merged:
        word = key_of(rows, e)
    else:
        word = _merged_words(e.convert(rows, f32), order, e)
    if word is None:
        return None
    return e.unary("not", word) if order.falling else word


def _numbers(words: SSAValue, rows: SSAValue, order: _Order, e: Emitter) -> SSAValue:
    """The elements that words stand for."""
    type_ = element(rows)
    word = e.unary("not", words) if order.falling else words
    if not is_float(type_):
        if is_unsigned(type_) and byte_size(type_) == 4:
            return e.bitcast(e.binary_number("xor", word, -(2**31)), type_)
        return e.convert(word, type_)
    if not order.merged:
        return e.convert(from_key(word, e), type_)
    return e.convert(_from_merged(word, e), type_)


def _integers(rows: SSAValue, e: Emitter) -> SSAValue | None:
    type_ = element(rows)
    if is_unsigned(type_) and byte_size(type_) == 4:
        return e.binary_number("xor", e.bitcast(rows, i32), -(2**31))
    return e.convert(rows, i32) if is_integer(type_) or is_pred(type_) else None


def _room(words: SSAValue) -> int:
    """Numbers between those of negative and positive numbers: one for each place and sign."""
    return 2 * shape(words)[-1]


def _merged_words(x: SSAValue, order: _Order, e: Emitter) -> SSAValue:
    """The bits as integers in order, below zero with room for zeros by their place, and behind
    infinity NaN by their place: twice the place, and the sign."""
    bits, room = e.bitcast(x, i32), _room(x)
    place = e.iota(shape(x), len(shape(x)) - 1, i32)
    if order.falling:
        place = e.unary("not", place)  # -1 - place, and below that of the place itself
        place = e.binary_number("add", place, shape(x)[-1])
    sign = e.binary_number("shift_right_logical", bits, 31)
    code = e.binary("add", e.binary_number("multiply", place, 2), sign)
    negative = e.binary_number("shift_right_arithmetic", bits, 31)
    turned = e.binary("xor", bits, e.binary_number("and", negative, 0x7FFFFFFF))
    number = e.binary("add", turned, e.binary_number("and", negative, -room))
    zero = e.compare(x, e.fill_like(0, x), "EQ")
    number = e.select(zero, e.binary_number("add", code, -room), number)
    nan = e.compare(x, x, "NE")
    return e.select(nan, e.binary_number("add", code, _INFINITY + 1), number)


def _from_merged(word: SSAValue, e: Emitter) -> SSAValue:
    """The f32 numbers of such integers."""
    room = _room(word)
    below = e.compare_number(word, -room, "LT")
    turned = e.binary_number("xor", e.binary_number("add", word, room), 0x7FFFFFFF)
    bits = e.select(below, turned, word)
    sign = e.binary_number("shift_left", word, 31)
    zero = e.binary("and", e.unary("not", below), e.compare_number(word, 0, "LT"))
    bits = e.select(zero, sign, bits)
    odd = e.unary("not", sign)  # infinity + 1 is odd
    odd = e.binary_number("and", odd, -(2**31))
    nan = e.compare_number(word, _INFINITY, "GT")
    bits = e.select(nan, e.binary_number("or", odd, _QUIET_NAN), bits)
    return e.bitcast(bits, f32)


RULES: dict[str, Rule] = {"sort": sort}
"""In place of those of the same names, where an engine sorts rows."""
