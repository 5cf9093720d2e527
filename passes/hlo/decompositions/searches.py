"""Decompose argmax and argmin for engines that find the position of a value in a row.

First the best value of each row is computed, then its first position, as composite `first_match`.
The region of the composite uses comparisons and indices. Long rows, and few rows, are searched in
pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float, is_pred
from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.decompositions.argmax import extreme, same
from neuronir.passes.hlo.decompositions.counts import counts_along
from neuronir.passes.hlo.decompositions.stages import reduce as reduce_in_stages
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, is_splat_of, shape
from neuronir.passes.hlo.support.walk import Rule

FIRST_MATCH = "first_match"
"""first_match(x, y): the position (f32) along dimension `axes` of x of the first element equal to
y, which has the other dimensions; the first NaN if y is NaN; the length of the row if there is
none.
"""
SHORT, LONG = 512, 4096
"""Minimum (except for shorter rows) and maximum of elements of a piece: several pieces are in
flight, one on ACT while DVE has another.
"""
SHORTEST = 96
"""Minimum elements of a row that are worth an instruction."""
_ROWS = 128
"""Partitions: with fewer rows, rows are split."""
_SEARCHED = 16384
"""Limit of elements that an instruction searches."""
_EXACT = 2**24
"""Indices below this are exact in f32."""


def reduce(op: Operation, e: Emitter) -> SSAValue | None:
    """Lower a reduction of (value, index) pairs to the best value and its first index.

    A reduction of one operand may be split into two stages.
    """
    return _searched(op, e) or reduce_in_stages(op, e)


@dataclass(frozen=True)
class _Best:
    """The best value of each piece of each row, and its first position in the row (f32)."""

    value: SSAValue
    place: SSAValue


def _searched(op: Operation, e: Emitter) -> SSAValue | None:
    if len(op.operands) != 4:
        return None
    block, dims = op.regions[0].blocks.first, ints(op, "dimensions")
    opcode = None if block is None or len(block.args) != 4 else extreme(block)
    values, indices, first_value, first_index = op.operands
    type_ = element(values)
    neutral = None if opcode is None else neutral_element(opcode, type_)
    if opcode is None or neutral is None or len(dims) != 1 or not _findable(values):
        return None
    (axis,) = dims
    n = shape(values)[axis]
    if not SHORTEST <= n < _EXACT or not counts_along(indices, axis) or 0 in shape(values):
        return None
    if not is_splat_of(first_value, neutral):
        return None
    best = _pieces(values, axis, opcode, e)
    if shape(best.value)[axis] > 1:
        whole = e.reduce(best.value, neutral, dims, opcode)
        kept = [d for d in range(len(shape(values))) if d != axis]
        hit = same(best.value, e.broadcast(whole, shape(best.value), kept), e)
        places = e.select(hit, best.place, e.fill_like(n, best.place))
        place = e.reduce(places, n, dims, "minimum")
    else:
        kept_dims = [m for d, m in enumerate(shape(values)) if d != axis]
        whole, place = (e.reshape(v, kept_dims) for v in (best.value, best.place))
    where = e.convert(place, element(indices))
    start = e.broadcast(first_value, shape(whole), ())
    lower = e.binary("minimum", where, e.broadcast(first_index, shape(whole), ()))
    if is_splat_of(first_index, 0):
        lower = e.fill_like(0, where)
    return e.tuple([whole, e.select(same(start, whole, e), lower, where)])


def _findable(values: SSAValue) -> bool:
    """Return whether fp32 distinguishes all values of the type."""
    type_ = element(values)
    return byte_size(type_) <= (4 if is_float(type_) else 2) and not is_pred(type_)


def _pieces(values: SSAValue, axis: int, opcode: str, e: Emitter) -> _Best:
    """Reduce each piece of the rows to its best value; `axis` numbers the pieces."""
    dims = shape(values)
    n = dims[axis]
    count, length = cut_row(n, prod(dims) // n)
    main = e.slice(values, [0] * len(dims), _at(dims, axis, count * length))
    split = (*dims[:axis], count, length, *dims[axis + 1 :])
    found = _search(e.reshape(main, split), axis + 1, opcode, e)
    if count > 1:
        begin = e.iota(shape(found.place), axis, f32)
        begin = e.binary_number("multiply", begin, length)
        found = _Best(found.value, e.binary("add", found.place, begin))
    low = count * length
    if low == n:
        return found
    rest = e.slice(values, _at([0] * len(dims), axis, low), dims)
    split = (*dims[:axis], 1, n - low, *dims[axis + 1 :])
    last = _search(e.reshape(rest, split), axis + 1, opcode, e)
    place = e.binary_number("add", last.place, low)
    return _Best(
        e.concatenate([found.value, last.value], axis), e.concatenate([found.place, place], axis)
    )


def _at(dims: Sequence[int], axis: int, n: int) -> list[int]:
    return [n if d == axis else m for d, m in enumerate(dims)]


def cut_row(n: int, rows: int) -> tuple[int, int]:
    """Return (pieces, elements of each) of a row of `n` elements.

    Pieces are not too long, and there is one for each partition. The number divides the row, or is
    1 if one instruction searches all of it.
    """
    least = max(-(-n // LONG), min(-(-_ROWS // rows), n // SHORT), 1)
    for count in range(least, min(4 * least, n // 8) + 1):
        if n % count == 0:
            return count, n // count
    if n <= _SEARCHED:
        return 1, n
    return least, n // least


def _search(values: SSAValue, axis: int, opcode: str, e: Emitter) -> _Best:
    neutral = neutral_element(opcode, element(values))
    assert neutral is not None
    best = e.reduce(values, neutral, [axis], opcode)
    return _Best(best, first_match(values, best, axis, e))


def first_match(values: SSAValue, wanted: SSAValue, axis: int, e: Emitter) -> SSAValue:
    """Build the composite `first_match`."""
    dims = shape(values)
    n, kept = dims[axis], [d for d in range(len(dims)) if d != axis]
    index = e.iota(dims, axis, f32)
    hit = same(values, e.broadcast(wanted, dims, kept), e)
    place = e.reduce(e.select(hit, index, e.fill_like(n, index)), n, [axis], "minimum")
    if n < SHORTEST:
        return place
    part = cut(place, [values, wanted])
    assert part is not None  # created above
    return wrap(part, FIRST_MATCH, {"axes": i64_array([axis])})


RULES: dict[str, Rule] = {"reduce": reduce}
"""Rules that replace those of the same name on targets with row searches."""
