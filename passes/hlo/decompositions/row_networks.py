"""Build sorting networks of rows: composites `sort_rows` and `sort_pairs`.

With `bitonic`, each row ascends and then descends, or the other way round: the network only merges
it, in log2(n) steps. Rows have a power of two elements then.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    TupleType,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, string_attr
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter, property_attr
from neuronir.passes.hlo.support.values import element, shape, tensor

SORT_ROWS = "sort_rows"
"""sort_rows(x): sort the s32 values of each row (the last dimension) in ascending order."""
SORT_PAIRS = "sort_pairs"
"""sort_pairs(x, y, ...): sort y by x, and by y where x is equal.

The values are integers in f32: x has 24 bits and a sign, y is from 0 to 2^24, or all y of a row are
from -2^24 to 0. Further operands of type s32 are permuted like y. The result is y, then x with
`keys`, then the further operands, one after another along the rows; in s32 if there are any.
"""
KEYS, BITONIC = "keys", "bitonic"
LONGEST_PAIR = 2048
"""Limit of elements of a row of pairs: the exchange mask is in PSUM."""
LONGEST_ROW = 8192
"""Limit of elements of a row of words: a network needs three buffers of them."""


def flag(params: DictionaryAttr, name: str) -> bool:
    """Return a parameter of a network; false if it is absent."""
    value = params.data.get(name)
    return isinstance(value, IntegerAttr) and bool(value.value.data)


def _params(axis: int, flags: Mapping[str, bool]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {"axes": i64_array([axis])}
    return found | {name: BoolAttr.from_bool(True) for name, given in flags.items() if given}


def sort_rows(words: SSAValue, e: Emitter, *, bitonic: bool = False) -> SSAValue:
    """Build the composite `sort_rows`."""
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
    assert part is not None  # created above
    return wrap(part, SORT_ROWS, _params(axis, {BITONIC: bitonic}))


def sort_pairs(
    high: SSAValue,
    low: SSAValue,
    carried: Sequence[SSAValue],
    e: Emitter,
    *,
    keys: bool = False,
    bitonic: bool = False,
) -> list[SSAValue]:
    """Build the composite `sort_pairs`, and return the parts of its result.

    These are y, x with `keys`, both in s32 if there are carried operands, and these operands.
    """
    scalar = tensor((), f32)
    given = [high, low, *carried]
    block = Block(arg_types=[t for v in given for t in [tensor((), element(v))] * 2])
    a, b, c, d = block.args[:4]
    assert a.type == scalar

    def compare(x: SSAValue, y: SSAValue, direction: str) -> Operation:
        return OP_CLASSES["hlo.compare"].create(
            operands=[x, y],
            result_types=[tensor((), i1)],
            properties={"direction": string_attr(direction)},
        )

    less, same, lower = compare(a, b, "LT"), compare(a, b, "EQ"), compare(c, d, "LT")
    both = OP_CLASSES["hlo.and"].create(
        operands=[same.results[0], lower.results[0]], result_types=[tensor((), i1)]
    )
    first = OP_CLASSES["hlo.or"].create(
        operands=[less.results[0], both.results[0]], result_types=[tensor((), i1)]
    )
    end = OP_CLASSES["hlo.return"].create(operands=first.results)
    block.add_ops([less, same, lower, both, first, end])
    axis = len(shape(high)) - 1
    types = TupleType(ArrayAttr([cast(TypeAttribute, v.type) for v in given]))
    properties = {"dimension": i64_attr(axis), "is_stable": property_attr(False)}
    done = e.emit("sort", given, types, properties, [Region(block)])
    kept = [1, *([0] if keys else []), *range(2, len(given))]
    columns = [e.tuple_element(done, k) for k in kept]
    if carried:
        columns = [e.convert(v, i32) for v in columns]
    found = columns[0] if len(columns) == 1 else e.concatenate(columns, axis)
    part = cut(found, given)
    assert part is not None  # created above
    made = wrap(part, SORT_PAIRS, _params(axis, {KEYS: keys, BITONIC: bitonic}))
    return _columns(made, len(kept), e)


def _columns(rows: SSAValue, count: int, e: Emitter) -> list[SSAValue]:
    """Return the parts of rows, of equal length."""
    *front, width = shape(rows)
    n = width // count
    if count == 1:
        return [rows]
    edge = [0] * len(front)
    return [e.slice(rows, [*edge, k * n], [*front, (k + 1) * n]) for k in range(count)]
