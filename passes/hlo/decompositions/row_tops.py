"""Find the k best of rows on engines that find eight at once: `top_rows` and `top_values`.

`top_rows` returns fp32 values and their positions, `top_values` only the values. Engines compare in
fp32, where zeros of both signs are equal and NaN is unordered. These special values are therefore
searched separately, as words of their kind and position. In the main search they keep their
position among the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
_SHORT, _EACH = 1024, 64
"""Limit of elements of a piece for which all intermediate values fit in SBUF, and the fixed cost of
an instruction for a piece, in elements.
"""
_ONE_BY_ONE = 7
"""Passes over a row to select one element."""
_SEARCHED = 5
"""Passes over a row to select eight elements, including those for words."""
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
_SIGN, _ONE, _INFINITY, _QUIET_NAN = -(2**31), 0x3F800000, 0x7F800000, 0x7FC00000
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
    values, places = _best(_cut_row(e.convert(key, f32), k, e), k, e)
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


@dataclass(frozen=True)
class _Cut:
    """Rows [..., elements] that are split into pieces of equal length.

    `pieces` are [rows, pieces, elements] or [rows * pieces, elements]. `rest` are the elements
    after the last piece, [..., elements].
    """

    front: tuple[int, ...]
    count: int
    pieces: SSAValue
    rest: SSAValue | None = None

    @property
    def length(self) -> int:
        """Return the elements of a piece."""
        return shape(self.pieces)[-1]

    def begin(self, k: int, e: Emitter) -> SSAValue:
        """Return where the piece of each selected element begins: [..., pieces, k], in f32."""
        dims = (*self.front, self.count, k)
        return e.binary_number("multiply", e.iota(dims, len(self.front), f32), self.length)

    def behind(self, e: Emitter) -> SSAValue:
        """Return the positions of the rest, in f32."""
        assert self.rest is not None
        dims = shape(self.rest)
        place = e.iota(dims, len(dims) - 1, f32)
        return e.binary_number("add", place, self.count * self.length)

    def joined(self, best: SSAValue, rest: SSAValue | None, e: Emitter) -> SSAValue:
        """Return the best of all pieces and values of the rest in one row."""
        row = e.reshape(best, [*self.front, self.count * shape(best)[-1]])
        return row if rest is None else e.concatenate([row, rest], len(self.front))


def _of_floats(x: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the k largest f32 values in total order (NaNs are equal), and their positions
    (f32).
    """
    row = _cut_row(x, k, e)
    within = e.iota(shape(row.pieces), len(shape(row.pieces)) - 1, f32)
    plain, words = _plain_and_words(row.pieces, within, e)
    rest, others = None, None
    if row.rest is not None:
        rest, others = _plain_and_words(row.rest, row.behind(e), e)
    if row.count > 1:
        words = e.reshape(top_values(words, k, e), [*row.front, row.count, k])
        words = e.binary("subtract", words, row.begin(k, e))
        words = row.joined(words, others, e)
    special = e.convert(top_values(e.reshape(words, [*row.front, shape(words)[-1]]), k, e), i32)
    values, found = _best(replace(row, pieces=plain, rest=rest), k, e)
    number = e.binary("and", e.compare_number(values, 0, "NE"), _finite(values, e))
    special = _aligned(special, values, number, e)
    kind = e.binary_number("shift_right_logical", special, _PLACES.bit_length() - 1)
    kind = e.select(number, e.fill_like(7, kind), kind)
    place = e.binary_number("and", e.unary("not", special), _PLACES - 1)
    bits = e.bitcast(values, i32)
    for code, pattern in ((6, _QUIET_NAN), (4, 0), (3, _SIGN), (1, _QUIET_NAN | _SIGN)):
        bits = e.select(e.compare_number(kind, code, "EQ"), e.fill_like(pattern, bits), bits)
    return e.bitcast(bits, f32), e.select(number, found, e.convert(place, f32))


def _plain_and_words(x: SSAValue, places: SSAValue, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the elements with NaN replaced by infinities, and words of special values.

    A word is the kind, 1 to 6 (-NaN, -inf, -0, 0, inf, NaN), followed by the distance to the end of
    all positions. Other values get the word 0.
    """
    nan = e.compare(x, x, "NE")
    bits = e.bitcast(x, i32)
    ends = e.binary_number("and", bits, _SIGN)
    ends = e.bitcast(e.binary_number("or", ends, _INFINITY), f32)
    plain = e.select(nan, ends, x)
    infinite = e.convert(e.compare_number(e.unary("abs", plain), _INF, "EQ"), f32)
    zero = e.convert(e.compare_number(x, 0, "EQ"), f32)
    # 4 + size or 3 - size by sign; size is 0 for zeros, 1 for infinities, 2 for NaN
    size = e.binary("add", infinite, e.convert(nan, f32))
    one = e.binary_number("or", e.binary_number("and", bits, _SIGN), _ONE)
    code = e.binary("multiply", e.binary_number("add", size, 0.5), e.bitcast(one, f32))
    word = e.binary("subtract", e.binary_number("multiply", code, _PLACES), places)
    word = e.binary_number("add", word, 4.5 * _PLACES - 1)
    return plain, e.binary("multiply", word, e.binary("maximum", infinite, zero))


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
    """Return the number of pieces of a row that takes the fewest cycles.

    Pieces fill the partitions. No piece is too long, and each is much longer than k. The best of
    all pieces are searched again.
    """
    rows, n = prod(dims[:-1]), dims[-1]
    least = max(-(-n // (LONGEST if k <= _TWICE else _LONGEST_TWICE)), 1)
    most = max(least, min(max(2 * -(-n // _SHORT), -(-_ROWS // rows)), n // (4 * k)))
    search = _SEARCHED * -(-k // 8)

    def cycles(count: int) -> tuple[int, int]:
        length = n // count
        prepared = _PREPARED if length <= _SHORT else 2 * _PREPARED
        time = -(-rows * count // _ROWS) * (length + _EACH) * (prepared + search)
        if count > 1:
            best = count * k + n % count
            time += -(-rows // _ROWS) * ((best + _EACH) * search + _COMPARED * k * best)
        return time, count

    return min(range(least, most + 1), key=cycles)


def _cut_row(x: SSAValue, k: int, e: Emitter) -> _Cut:
    """Split rows into pieces of equal length and the few remaining elements."""
    *front, n = shape(x)
    count = _pieces(shape(x), k)
    rows, length = prod(front), n // count
    if count * length == n:
        return _Cut(tuple(front), count, e.reshape(x, [rows * count, length]))
    edge = [0] * len(front)
    even = e.slice(x, [*edge, 0], [*front, count * length])
    rest = e.slice(x, [*edge, count * length], [*front, n])
    return _Cut(tuple(front), count, e.reshape(even, [rows, count, length]), rest)


def _best(row: _Cut, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the k largest of each row and their positions (f32)."""
    values, places = _halves(top_rows(row.pieces, k, e), k, e)
    if row.count == 1:
        return e.reshape(values, [*row.front, k]), e.reshape(places, [*row.front, k])
    begin = row.begin(k, e)
    places = e.binary("add", e.reshape(places, shape(begin)), begin)
    places = row.joined(places, None if row.rest is None else row.behind(e), e)
    values = e.reshape(values, shape(begin))
    values, order = _halves(top_rows(row.joined(values, row.rest, e), k, e), k, e)
    return values, _taken(places, order, e)


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
