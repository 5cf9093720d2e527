"""The k best of rows, where an engine finds eight of them at once: composites `top_rows`, of fp32
numbers, and `top_values`, without their places.

Engines compare fp32, for which zeros of both signs are equal and NaN is no number. So these are
counted apart: a second search takes words of what they are and where, and in the first one they
keep their place among the others.
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
"""top_rows(x), of f32: the `k` largest of each row (the last dimension), those of equal ones that
come first, then their places; top_values(x): the values alone. A number below all others, which
there may be at the end, comes in any order."""
_FEWEST, _MOST = 4, 256
"""Elements that are taken of a row: fewer are taken one by one, of more a row is sorted."""
_SHORTEST, LONGEST = 64, 16384
"""Elements of a row, and of a piece of one."""
_ONE_BY_ONE = 7
"""Passes over a row to take one element of it, and no more than that."""
_EIGHTH, _PREPARED, _LATENCY = 0.6, 20, 25_000
"""Passes of a search of f32 numbers for each element that is taken, and for all; what it takes, in
elements of a partition (about as many ns), besides."""
_ROWS = 128
"""Partitions: with fewer rows they are cut."""
_COMPARED, _GATHERED = 3, 20
"""Time to compare a place with one other, on all partitions at once, and to gather one element,
in ns."""
_PLACES = 2**21
"""Places in a word: with three bits of what stands there it is exact in f32."""
_SIGN, _QUIET_NAN = -(2**31), 0x7FC00000
_INF = float("inf")


def topk(op: Operation, e: Emitter) -> SSAValue | None:
    """The k best of rows of numbers that fp32 tells apart; others as where nothing searches."""
    parent = op.parent_op()
    if parent is not None and parent.name == COMPOSITE:
        return None  # it says what the composite means
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
    if is_float(type_):  # the upper half says it all
        key = e.binary_number("shift_right_arithmetic", key_of(x, e), 16)
    key = key if largest else e.unary("not", key)
    values, places = _best(e.convert(key, f32), k, e)
    key = e.convert(values, i32)
    key = key if largest else e.unary("not", key)
    if not is_float(type_):
        return e.tuple([e.convert(key, type_), e.convert(places, i32)])
    # a negative number's lower half is all ones in its key
    low = e.binary_number("and", e.binary_number("shift_right_arithmetic", key, 31), 0xFFFF)
    key = e.binary("or", e.binary_number("shift_left", key, 16), low)
    return e.tuple([e.convert(from_key(key, e), type_), e.convert(places, i32)])


def _negated(x: SSAValue, e: Emitter) -> SSAValue:
    return e.bitcast(e.binary_number("xor", e.bitcast(x, i32), _SIGN), f32)


def _of_floats(x: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """The k largest of f32 numbers in total order, but for kinds of NaN, and their places (f32)."""
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
    """The elements of each row, finite f32 numbers, that the places name: by comparing each place
    with all, where that takes less than a gather."""
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
    """What an element is, 1 to 6 for -NaN, -inf, -0, 0, inf, NaN, and behind that how far from the
    end of all places it stands; less than 0 for numbers."""
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
    """The word of each of the best that is no number: infinities come first, zeros behind the
    positive numbers, the others behind all numbers."""
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
    """Into how many pieces a row is cut: one for each partition, none too long, and each much
    longer than what is taken of it."""
    rows, n = prod(dims[:-1]), dims[-1]
    most = n // (4 * k)
    count = max(-(-n // LONGEST), min(_ROWS // rows, most), 1)
    return next(
        (c for c in range(count, count // 2, -1) if n % c == 0 and n // c <= LONGEST), count
    )


def _parted(x: SSAValue, k: int, filler: float, e: Emitter) -> SSAValue:
    """Rows in pieces, [..., pieces, elements]; the last one filled up."""
    dims = shape(x)
    count = _pieces(dims, k)
    length = -(-dims[-1] // count)
    edge = [0] * (len(dims) - 1)
    full = e.pad(x, e.scalar(filler, f32), [*edge, 0], [*edge, count * length - dims[-1]])
    return e.reshape(full, [*dims[:-1], count, length])


def _again(pieces: SSAValue, k: int, e: Emitter) -> SSAValue:
    """The best of all pieces, in one row."""
    dims = shape(pieces)
    if dims[-2] == 1:
        return e.reshape(pieces, [*dims[:-2], dims[-1]])
    return e.reshape(top_values(pieces, k, e), [*dims[:-2], dims[-2] * k])


def _best(x: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """The k largest of each row and their places (f32)."""
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
    """Composite `top_rows`."""
    return _composite(x, k, TOP_ROWS, e)


def top_values(x: SSAValue, k: int, e: Emitter) -> SSAValue:
    """Composite `top_values`."""
    return _composite(x, k, TOP_VALUES, e)


def _composite(x: SSAValue, k: int, kind: str, e: Emitter) -> SSAValue:
    pair = e.op("topk", [x], k=k, largest=True)
    found = e.tuple_element(pair, 0)
    if kind == TOP_ROWS:
        places = e.convert(e.tuple_element(pair, 1), f32)
        found = e.concatenate([found, places], len(shape(x)) - 1)
    part = cut(found, [x])
    assert part is not None  # it was made here
    params = {"axes": i64_array([len(shape(x)) - 1]), "k": IntegerAttr(k, i64)}
    return wrap(part, kind, params)


RULES: dict[str, Rule] = {"topk": topk}
"""In place of those of the same names, where an engine searches rows."""
