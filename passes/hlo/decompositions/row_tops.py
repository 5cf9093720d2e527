"""Find the k best of rows on engines that find eight at once: `top_rows` and `top_values`.

`top_rows` returns fp32 values and their positions, `top_values` only the values. Engines compare in
fp32, where zeros of both signs are equal and NaN is unordered. These special values are therefore
searched separately, as words of their kind and position. In the main search they keep their
position among the others.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr, f32, i32, i64
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.decompositions import sorting
from neuronir.passes.hlo.decompositions.total_order import from_key, key_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, shape
from neuronir.passes.hlo.support.walk import COMPOSITE, Rule

TOP_ROWS, TOP_VALUES = "top_rows", "top_values"
"""top_rows(x) of f32: the `k` largest of each row (the last dimension), then their positions; of
equal values the first ones. top_values(x): the values alone. A value below all others, which may
fill the end, comes in any order.
"""
_FEWEST, _MOST = 4, 256
"""Limits of k: fewer are selected one by one, and for more the row is sorted."""
_SHORTEST, LONGEST = 64, 16384
"""Limits of elements of a row, and of a piece of one."""
_TWICE, _LONGEST_TWICE = 16, 8192
"""Limits of k for which elements of a piece are replaced once, and of elements of a piece in which
they are replaced more often: that takes three buffers.
"""
_ONE_BY_ONE = 7
"""Passes over a row to select one element."""
_EIGHTH, _PREPARED, _LATENCY = 0.6, 20, 25_000
"""Passes of a search of f32 values for each selected element, and for all; and the fixed cost, in
elements of a partition (about as many ns).
"""
_ROWS = 128
"""Partitions: with fewer rows, rows are split."""
_COMPARED, _GATHERED = 3, 20
"""Time to compare a position with one other, on all partitions at once, and to gather one element,
in ns.
"""
_PLACES = 2**21
"""Limit of positions in a word: together with three bits for the kind, a word is exact in f32."""
_SIGN, _QUIET_NAN = -(2**31), 0x7FC00000
_INF = float("inf")


def topk(op: Operation, e: Emitter) -> SSAValue | None:
    """Lower topk of rows of values that fp32 distinguishes; otherwise use the rules of
    `sorting`.
    """
    parent = op.parent_op()
    if parent is not None and parent.name == COMPOSITE:
        return None  # the region that defines the composite
    return _searched(op, e) or sorting.topk(op, e)


def _searched(op: Operation, e: Emitter) -> SSAValue | None:
    x, k, largest = op.operands[0], integer(op, "k"), bool(integer(op, "largest"))
    dims, type_ = shape(x), element(x)
    if not _FEWEST <= k <= _MOST or not _SHORTEST <= dims[-1] < _PLACES or 0 in dims:
        return None
    if 2 * k > dims[-1]:
        return None
    each = max(prod(dims) // _ROWS, 4 * k)
    if is_float(type_) and byte_size(type_) == 4:
        if _ONE_BY_ONE * k * each < (_EIGHTH * k + _PREPARED) * each + _LATENCY:
            return None
        turned = x if largest else _negated(x, e)
        values, places = _of_floats(turned, k, e)
        return e.tuple([values if largest else _negated(values, e), e.convert(places, i32)])
    if byte_size(type_) > 2 or not (is_float(type_) or is_integer(type_)):
        return None
    key = e.convert(x, i32)
    if is_float(type_):  # the upper half determines the value
        key = e.binary_number("shift_right_arithmetic", key_of(x, e), 16)
    key = key if largest else e.unary("not", key)
    values, places = _best(e.convert(key, f32), k, e)
    key = e.convert(values, i32)
    key = key if largest else e.unary("not", key)
    if not is_float(type_):
        return e.tuple([e.convert(key, type_), e.convert(places, i32)])
    # the lower half of a negative value is all ones in its key
    low = e.binary_number("and", e.binary_number("shift_right_arithmetic", key, 31), 0xFFFF)
    key = e.binary("or", e.binary_number("shift_left", key, 16), low)
    return e.tuple([e.convert(from_key(key, e), type_), e.convert(places, i32)])


def _negated(x: SSAValue, e: Emitter) -> SSAValue:
    return e.bitcast(e.binary_number("xor", e.bitcast(x, i32), _SIGN), f32)


def _of_floats(x: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the k largest f32 values in total order (NaNs are equal), and their positions
    (f32).
    """
    negative = e.compare_number(e.bitcast(x, i32), 0, "LT")
    nan = e.compare(x, x, "NE")
    ends = e.select(negative, e.fill_like(-_INF, x), e.fill_like(_INF, x))
    plain = e.select(nan, ends, x)
    words = _parted(_words(plain, negative, nan, e), k, -1.0, e)
    special = e.convert(top_values(_again(words, k, e), k, e), i32)
    values, places = _best(plain, k, e)
    number = e.binary("and", e.compare_number(values, 0, "NE"), _finite(values, e))
    special = _aligned(special, values, number, e)
    kind = e.binary_number("shift_right_logical", special, _PLACES.bit_length() - 1)
    kind = e.select(number, e.fill_like(7, kind), kind)
    place = e.binary_number("and", e.unary("not", special), _PLACES - 1)
    bits = e.bitcast(values, i32)
    for code, pattern in ((6, _QUIET_NAN), (4, 0), (3, _SIGN), (1, _QUIET_NAN | _SIGN)):
        bits = e.select(e.compare_number(kind, code, "EQ"), e.fill_like(pattern, bits), bits)
    return e.bitcast(bits, f32), e.select(number, places, e.convert(place, f32))


def _taken(numbers: SSAValue, places: SSAValue, e: Emitter) -> SSAValue:
    """Return the elements (finite f32) of each row at the given positions.

    Positions are compared with all positions if that takes less time than a gather.
    """
    *front, k = shape(places)
    n, rows = shape(numbers)[-1], prod(front)
    if _COMPARED * -(-rows // _ROWS) * n >= _GATHERED * rows:
        return sorting.taken(numbers, places, e)
    wide, last = [*front, k, n], len(front) + 1
    hits = e.compare(e.broadcast(places, wide, range(last)), e.iota(wide, last, f32), "EQ")
    spread = e.broadcast(numbers, wide, [*range(last - 1), last])
    return e.reduce(e.select(hits, spread, e.fill_like(0, spread)), 0, [last], "add")


def _finite(x: SSAValue, e: Emitter) -> SSAValue:
    return e.binary("and", e.compare_number(x, _INF, "LT"), e.compare_number(x, -_INF, "GT"))


def _words(plain: SSAValue, negative: SSAValue, nan: SSAValue, e: Emitter) -> SSAValue:
    """Encode special values: kind 1 to 6 (-NaN, -inf, -0, 0, inf, NaN), then the distance to the
    end.

    Other values get a code below 0.
    """
    kind = e.fill_like(-1, plain)
    odd = e.convert(nan, f32)
    zero = e.binary("subtract", e.fill_like(4, plain), e.convert(negative, f32))
    for number, code in (
        (0.0, zero),
        (_INF, e.binary_number("add", odd, 5)),
        (-_INF, e.binary("subtract", e.fill_like(2, plain), odd)),
    ):
        kind = e.select(e.compare_number(plain, number, "EQ"), code, kind)
    place = e.iota(shape(plain), len(shape(plain)) - 1, f32)
    left = e.binary("subtract", e.fill_like(_PLACES - 1, place), place)
    return e.binary("add", e.binary_number("multiply", kind, _PLACES), left)


def _aligned(words: SSAValue, values: SSAValue, number: SSAValue, e: Emitter) -> SSAValue:
    """Return the code of each special value among the best.

    Infinities come first, zeros after the positive values, and the others after all values.
    """
    dims, last = shape(values), len(shape(values)) - 1

    def count(which: SSAValue) -> SSAValue:
        total = e.reduce(e.convert(e.binary("and", which, number), f32), 0, [last], "add")
        return e.broadcast(total, dims, range(last))

    above, below = (e.compare_number(values, 0, way) for way in ("GT", "LT"))
    zeros_on = e.convert(e.compare_number(values, 0, "LE"), f32)
    end = e.convert(e.compare_number(values, -_INF, "EQ"), f32)
    skipped = e.binary(
        "add",
        e.binary("multiply", zeros_on, count(above)),
        e.binary("multiply", end, count(below)),
    )
    place = e.binary("subtract", e.iota(dims, last, f32), skipped)
    return _taken(words, e.binary_number("maximum", place, 0), e)


def _pieces(dims: Sequence[int], k: int) -> int:
    """Return the number of pieces of a row.

    There is one piece for each partition. No piece is too long, and each is much longer than k.
    """
    rows, n = prod(dims[:-1]), dims[-1]
    most = n // (4 * k)
    longest = LONGEST if k <= _TWICE else _LONGEST_TWICE
    count = max(-(-n // longest), min(_ROWS // rows, most), 1)
    return next(
        (c for c in range(count, count // 2, -1) if n % c == 0 and n // c <= longest), count
    )


def _parted(x: SSAValue, k: int, filler: float, e: Emitter) -> SSAValue:
    """Split rows into pieces, [..., pieces, elements], and pad the last one."""
    dims = shape(x)
    count = _pieces(dims, k)
    length = -(-dims[-1] // count)
    edge = [0] * (len(dims) - 1)
    full = e.pad(x, e.scalar(filler, f32), [*edge, 0], [*edge, count * length - dims[-1]])
    return e.reshape(full, [*dims[:-1], count, length])


def _again(pieces: SSAValue, k: int, e: Emitter) -> SSAValue:
    """Return the best of all pieces in one row."""
    dims = shape(pieces)
    if dims[-2] == 1:
        return e.reshape(pieces, [*dims[:-2], dims[-1]])
    return e.reshape(top_values(pieces, k, e), [*dims[:-2], dims[-2] * k])


def _best(x: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the k largest of each row and their positions (f32)."""
    pieces = _parted(x, k, -_INF, e)
    dims = shape(pieces)
    *front, count, length = dims
    if count == 1:
        return _halves(top_rows(e.reshape(pieces, [*front, length]), k, e), k, e)
    values, places = _halves(top_rows(pieces, k, e), k, e)
    begin = e.iota(shape(places), len(front), f32)
    places = e.binary("add", places, e.binary_number("multiply", begin, length))
    row = [*front, count * k]
    values, order = _halves(top_rows(e.reshape(values, row), k, e), k, e)
    return values, _taken(e.reshape(places, row), order, e)


def _halves(both: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    dims = shape(both)
    front, edge = dims[:-1], [0] * (len(dims) - 1)
    return (
        e.slice(both, [*edge, 0], [*front, k]),
        e.slice(both, [*edge, k], [*front, 2 * k]),
    )


def top_rows(x: SSAValue, k: int, e: Emitter) -> SSAValue:
    """Build the composite `top_rows`."""
    return _composite(x, k, TOP_ROWS, e)


def top_values(x: SSAValue, k: int, e: Emitter) -> SSAValue:
    """Build the composite `top_values`."""
    return _composite(x, k, TOP_VALUES, e)


def _composite(x: SSAValue, k: int, kind: str, e: Emitter) -> SSAValue:
    pair = e.op("topk", [x], k=k, largest=True)
    found = e.tuple_element(pair, 0)
    if kind == TOP_ROWS:
        places = e.convert(e.tuple_element(pair, 1), f32)
        found = e.concatenate([found, places], len(shape(x)) - 1)
    part = cut(found, [x])
    assert part is not None  # created above
    params = {"axes": i64_array([len(shape(x)) - 1]), "k": IntegerAttr(k, i64)}
    return wrap(part, kind, params)


RULES: dict[str, Rule] = {"topk": topk}
"""Rules that replace those of the same name on targets with row searches."""
