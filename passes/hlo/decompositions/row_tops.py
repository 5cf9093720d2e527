"""Find the k best of rows on engines that find eight at once: composite `top_rows`.

Engines compare in fp32. Narrow types are searched as fp32 integers, and f32 values as codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, f32, i32, i64
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.decompositions import sorting
from neuronir.passes.hlo.decompositions.row_codes import code_of, from_code
from neuronir.passes.hlo.decompositions.total_order import from_key, key_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, shape
from neuronir.passes.hlo.support.walk import COMPOSITE, Rule

TOP_ROWS, TOP_CODES = "top_rows", "top_codes"
"""top_rows(x) of f32: the `k` largest of each row (the last dimension), then their positions; of
equal values the first ones. Values are neither NaN nor infinite. top_codes(x): the codes of the
largest of any f32 values, then their positions.
"""
_FEWEST, _MOST = 2, 256
"""Limits of k: fewer are selected one by one, and for more the row is sorted."""
_SHORTEST, _LONGEST = 64, 8192
"""Limits of elements of a row, and of a piece of one: a search needs three buffers."""
_EACH = 64
"""The fixed cost of an instruction for a piece, in elements."""
_ONE_BY_ONE = 7
"""Passes over a row to select one element."""
_SEARCHED, _PREPARED, _LATENCY = 3, 4, 25_000
"""Passes of a search for eight selected elements, and to write codes; and the fixed cost, in
elements of a partition (about as many ns).
"""
_RAGGED = 8_000
"""The cost of elements after the last piece, in elements of a partition."""
_ROWS, _TURNS = 128, 16
"""Partitions: with fewer rows, rows are split. And a limit of pieces on each of them."""
_COMPARED, _GATHERED = 3, 20
"""Time to compare a position with one other, on all partitions at once, and to gather one element,
in ns.
"""
_AT_ONCE = 8
"""Elements that a search finds at once: a row has no fewer."""
_PLACES = 2**24
"""Limit of positions: they are exact in f32."""
_SIGN = -(2**31)


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
        if _ONE_BY_ONE * k * each < (_SEARCHED * -(-k // 8) + _PREPARED) * each + _LATENCY:
            return None
        row = _cut_row(x if largest else _negated(x, e), k, e)
        codes, places = _best(row, k, e, coded=False)
        values = from_code(codes, e)
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


def _pieces(dims: Sequence[int], k: int) -> int:
    """Return the number of pieces of a row that takes the fewest cycles.

    Pieces fill the partitions. No piece is too long, and each is much longer than k. The best of
    all pieces are searched again, at least eight of them.
    """
    rows, n = prod(dims[:-1]), dims[-1]
    least = max(-(-n // _LONGEST), 1)
    most = max(least, min(max(2 * least, _TURNS * _ROWS // rows), n // (4 * k)))
    search = _SEARCHED * -(-k // 8)

    def cycles(count: int) -> tuple[int, int]:
        length = n // count
        time = -(-rows * count // _ROWS) * (length + _EACH) * (_PREPARED + search)
        if count > 1:
            best = count * k + n % count
            time += _RAGGED * (n % count > 0)
            time += -(-rows // _ROWS) * ((best + _EACH) * search + _COMPARED * k * best)
        return time, count

    counts = range(least, most + 1)
    return min([c for c in counts if c == 1 or c * k + n % c >= _AT_ONCE] or counts, key=cycles)


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


def _best(row: _Cut, k: int, e: Emitter, coded: bool = True) -> tuple[SSAValue, SSAValue]:
    """Return the k largest of each row and their positions (f32); codes of values without one."""
    values, places = _halves(top_rows(row.pieces, k, e, coded), k, e)
    if row.count == 1:
        return e.reshape(values, [*row.front, k]), e.reshape(places, [*row.front, k])
    begin = row.begin(k, e)
    places = e.binary("add", e.reshape(places, shape(begin)), begin)
    places = row.joined(places, None if row.rest is None else row.behind(e), e)
    values = e.reshape(values, shape(begin))
    rest = row.rest if coded or row.rest is None else code_of(row.rest, e)
    values, order = _halves(top_rows(row.joined(values, rest, e), k, e), k, e)
    return values, _taken(places, order, e)


def _halves(both: SSAValue, k: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    dims = shape(both)
    front, edge = dims[:-1], [0] * (len(dims) - 1)
    return (
        e.slice(both, [*edge, 0], [*front, k]),
        e.slice(both, [*edge, k], [*front, 2 * k]),
    )


def top_rows(x: SSAValue, k: int, e: Emitter, coded: bool = True) -> SSAValue:
    """Build the composite `top_rows`, or `top_codes` of values that are not codes."""
    pair = e.op("topk", [x if coded else code_of(x, e)], k=k, largest=True)
    places = e.convert(e.tuple_element(pair, 1), f32)
    found = e.concatenate([e.tuple_element(pair, 0), places], len(shape(x)) - 1)
    part = cut(found, [x])
    assert part is not None  # created above
    params = {"axes": i64_array([len(shape(x)) - 1]), "k": IntegerAttr(k, i64)}
    return wrap(part, TOP_ROWS if coded else TOP_CODES, params)


RULES: dict[str, Rule] = {"topk": topk}
"""Rules that replace those of the same name on targets with row searches."""
