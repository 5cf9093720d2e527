"""Sort rows on an engine that compares 32-bit integers: composite `sort_rows` of s32 words.

A word encodes the sort key of an element and the element itself: the bits of a float, mapped to
integers of the same order. Elements that the comparator considers equal keep their order. Words
that represent several such elements (zeros of both signs, and NaN) therefore include the position
in the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    OpResult,
    SSAValue,
)

from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer, is_pred, is_unsigned
from neuronir.passes.hlo.decompositions import sorting
from neuronir.passes.hlo.decompositions.counts import counts_along
from neuronir.passes.hlo.decompositions.spread_sorts import (
    LONGEST,
    LONGEST_OF_PAIRS,
    cycles_of_pairs,
    sorted_pairs,
    sorted_words,
    width_of_pairs,
    width_of_words,
)
from neuronir.passes.hlo.decompositions.total_order import from_key, key_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    constant,
    element,
    integer,
    ints,
    producer,
    shape,
    string,
)
from neuronir.passes.hlo.support.walk import COMPOSITE, Rule

_GATHERED = 20
"""Time to gather one element, in ns."""
_INFINITY = 0x7F800000
_QUIET_NAN = 0x7FC00000


@dataclass(frozen=True)
class _Order:
    """The behaviour of a comparator of single elements.

    `falling` sorts in descending order. With `merged`, zeros of both signs are equal, and NaN of
    any kind is the largest value.
    """

    falling: bool
    merged: bool


def sort(op: Operation, e: Emitter) -> SSAValue | None:
    """Lower a sort of one operand, alone, with positions (argsort) or with further operands.

    A sort whose elements have no such words is lowered by the rules of `sorting`.
    """
    parent = op.parent_op()
    if parent is not None and parent.name == COMPOSITE:
        return None  # the region that defines the composite
    if len(op.operands) == 1:
        return _sorted(op, e) or sorting.sort(op, e)
    return _with_places(op, e) or _carried(op, e) or sorting.sort(op, e)


def _with_places(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the sorted elements and their positions."""
    axis, dims = integer(op, "dimension"), shape(op.operands[0])
    n = dims[axis]
    if len(op.operands) != 2:
        return None
    index = op.operands[1]
    turned = producer(index, "reverse")  # so that a descending sort is stable
    if turned is not None and ints(turned, "dimensions") == (axis,):
        index = turned.operands[0]
    else:
        turned = None
    if not counts_along(index, axis) or not _worth_pairs(dims, n, 0):
        return None
    x = op.operands[0]
    if _order(op.regions[0].block, is_float(element(x))) is None or byte_size(element(x)) > 4:
        return None
    last = [d for d in range(len(dims)) if d != axis] + [axis]
    back = [last.index(d) for d in range(len(dims))]
    width = width_of_pairs(prod(dims) // n, n, 0)
    rows = _widened(e.transpose(x, last), width, e)
    key = sorting.key_by(op.regions[0].block, [rows, rows], e)
    values = _sorted(op, e)
    if key is None or values is None:
        return None
    (low,) = sorted_pairs(*_pairs(key, n, e), [], e)
    places = _narrowed(_places(low, n, e), n, e)
    if turned is not None:
        places = e.binary("subtract", e.fill_like(n - 1, places), places)
    places = e.convert(places, element(op.operands[1]))
    return e.tuple([values, e.transpose(places, back)])


def _carried(op: Operation, e: Emitter) -> SSAValue | None:
    """Return all operands, sorted by keys of some of them."""
    axis, dims = integer(op, "dimension"), shape(op.operands[0])
    n = dims[axis]
    counted = [counts_along(v, axis) for v in op.operands]
    moved = [not c and i in _read(op) for i, c in enumerate(counted)]
    if not _worth_pairs(dims, n, moved.count(True)):
        return None
    if any(byte_size(element(v)) > 4 for v in op.operands):
        return None
    last = [d for d in range(len(dims)) if d != axis] + [axis]
    back = [last.index(d) for d in range(len(dims))]
    width = width_of_pairs(prod(dims) // n, n, moved.count(True))
    arrays = [_widened(e.transpose(v, last), width, e) for v in op.operands]
    key = sorting.key_by(op.regions[0].block, arrays, e)
    if key is None:
        return None
    words = [as_word(a, e) for a, m in zip(arrays, moved, strict=True) if m]
    low, *parts = sorted_pairs(*_pairs(key, n, e), words, e)
    places = _places(low, n, e)
    out = []
    for array, count, move in zip(arrays, counted, moved, strict=True):
        if count:
            out.append(e.convert(places, element(array)))
        else:
            out.append(of_word(parts.pop(0), element(array), e) if move else array)
    return e.tuple([e.transpose(_narrowed(v, n, e), back) for v in out])


def _widened(rows: SSAValue, width: int, e: Emitter) -> SSAValue:
    """Return rows that are padded at the end to `width` elements."""
    *front, n = shape(rows)
    if n == width:
        return rows
    edge = [0] * len(front)
    return e.pad(rows, e.scalar(0, element(rows)), [*edge, 0], [*edge, width - n])


def _narrowed(rows: SSAValue, n: int, e: Emitter) -> SSAValue:
    """Return the first `n` elements of rows."""
    *front, width = shape(rows)
    return rows if n == width else e.slice(rows, [0] * (len(front) + 1), [*front, n])


def _behind(keys: SSAValue, n: int, largest: int, e: Emitter) -> SSAValue:
    """Return keys of rows with the largest key at all positions from `n` on."""
    if shape(keys)[-1] == n:
        return keys
    place = e.iota(shape(keys), len(shape(keys)) - 1, i32)
    return e.select(e.compare_number(place, n, "LT"), keys, e.fill_like(largest, keys))


def _read(op: Operation) -> set[int]:
    """Return the indices of the results of a sort that have uses."""
    users = [use.operation for use in op.results[0].uses]
    if any(user.name != "hlo.get_tuple_element" for user in users):
        return set(range(len(op.operands)))
    return {integer(user, "index") for user in users}


def as_word(value: SSAValue, e: Emitter) -> SSAValue:
    """Return the bits of elements of at most four bytes as s32."""
    type_ = element(value)
    size = byte_size(type_)
    if size == 4 and (is_float(type_) or is_unsigned(type_)):
        return e.bitcast(value, i32)
    if not is_float(type_):
        return e.convert(value, i32)
    return e.convert(e.bitcast(value, IntegerType(8 * size)), i32)


def of_word(words: SSAValue, type_: Attribute, e: Emitter) -> SSAValue:
    """Return the elements of type `type_` that words encode."""
    size = byte_size(type_)
    if is_pred(type_) or not is_float(type_):
        return (
            e.bitcast(words, type_) if size == 4 and is_unsigned(type_) else e.convert(words, type_)
        )
    if size == 4:
        return e.bitcast(words, type_)
    return e.bitcast(e.convert(words, IntegerType(8 * size)), type_)


def _worth_pairs(dims: Sequence[int], n: int, carried: int) -> bool:
    """Return whether a sorting network of pairs takes such rows and is the fastest method.

    Comparing all pairs takes twelve passes over all pairs, which are on all partitions, and a
    gather of each carried operand.
    """
    if not 2 <= n <= LONGEST_OF_PAIRS or 0 in dims:
        return False
    rows = prod(dims) // n
    network = cycles_of_pairs(rows, n, carried)
    return network < 12 * rows * n * n // 128 + _GATHERED * carried * rows * n


def _pairs(key: SSAValue, n: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the operands of `sort_pairs` for s32 keys: the upper bits, and the lower bits with the
    position. Positions from `n` on are sorted behind the others.
    """
    dims = shape(key)
    count = 1 << (dims[-1] - 1).bit_length()
    high = e.convert(e.binary_number("shift_right_arithmetic", key, 8), f32)
    low = e.binary_number("multiply", e.binary_number("and", key, 255), count)
    place = e.iota(dims, len(dims) - 1, i32)
    return _behind(high, n, 2**23, e), e.convert(e.binary("add", low, place), f32)


def _places(done: SSAValue, n: int, e: Emitter) -> SSAValue:
    """Return the positions in sorted words, in s32."""
    return e.binary_number("and", e.convert(done, i32), (1 << (n - 1).bit_length()) - 1)


def _sorted(op: Operation, e: Emitter) -> SSAValue | None:
    x = op.operands[0]
    axis, dims = integer(op, "dimension"), shape(x)
    if not 2 <= dims[axis] <= LONGEST or 0 in dims:
        return None
    order = _order(op.regions[0].block, is_float(element(x)))
    if order is None:
        return None
    last = [d for d in range(len(dims)) if d != axis] + [axis]
    n = dims[axis]
    width = width_of_words(prod(dims) // n, n)
    rows = _widened(e.transpose(x, last), width, e)
    words = _words(rows, order, e)
    if words is None:
        return None
    words = _behind(words, n, 2**31 - 1, e)
    found = _numbers(sorted_words(words, e), rows, order, e)
    done = _narrowed(found, n, e)
    return e.transpose(done, [last.index(d) for d in range(len(dims))])


def _order(block: Block, floats: bool) -> _Order | None:
    """Return the order of a comparator of two elements; None if it compares something else."""
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
    """An argument of a comparator, and whether its zeros or its NaNs are merged."""

    argument: int
    zeros: bool = False
    nans: bool = False


def _element(value: SSAValue) -> _Seen | None:
    """Return the argument that a value equals except for zeros and NaN, or None."""
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
    """Return whether a chain of selects ends with an argument."""
    while isinstance(value, OpResult) and value.op.name == "hlo.select":
        value = value.op.operands[2]
    return value is argument


def _words(rows: SSAValue, order: _Order, e: Emitter) -> SSAValue | None:
    """Return s32 words in the order of the elements; words differ unless elements are identical."""
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
    """Return the elements that words represent."""
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
    """Return words between those of negative and positive values: one for each position and
    sign.
    """
    return 2 * shape(words)[-1]


def _merged_words(x: SSAValue, order: _Order, e: Emitter) -> SSAValue:
    """Return the bits as ordered integers, with gaps for zeros and NaN by position.

    Codes of zeros are negative and codes of NaN are beyond infinity, each as twice the position
    plus the sign.
    """
    bits, room = e.bitcast(x, i32), _room(x)
    place = e.iota(shape(x), len(shape(x)) - 1, i32)
    if order.falling:
        place = e.unary("not", place)  # -1 - position, below the word of the position itself
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
    """Return the f32 values of such integers."""
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
"""Rules that replace those of the same name on targets with row sorts."""
