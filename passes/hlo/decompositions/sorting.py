"""Decompose sort by ranks or by a bitonic network, and topk by repeated selection."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, i64_attr
from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer, is_pred, is_unsigned
from neuronir.passes.hlo.decompositions.counts import counts_along
from neuronir.passes.hlo.decompositions.total_order import from_key, key_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    constant,
    element,
    integer,
    producer,
    shape,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

_POINTWISE = frozenset(
    f"hlo.{name}"
    for name in (
        "abs add and bitcast_convert compare convert divide exponential floor is_finite log "
        "maximum minimum multiply negate not or remainder select shift_left "
        "shift_right_arithmetic shift_right_logical sign subtract xor"
    ).split()
)
_EXACT_INDEX = 2**24
"""Indices below this are exact in f32, in which DVE compares."""
_LARGEST = 2**31 - 1
_PAIRS_AT_ONCE = 2**20
"""Limit of pairs of elements (of all rows) compared at once: as f32 they take a quarter of SBUF."""
_MOST_PAIRS = 2**26
"""Up to this many pairs, all pairs are compared, in 64 blocks.

A network takes longer, and moves data between partitions in each step.
"""


@dataclass(frozen=True)
class _Order:
    """The keys of a sort: the compared arrays, and the comparator unless the first array decides.

    A deciding array is s32 and ascending.
    """

    comparator: Block | None


def sort(op: Operation, e: Emitter) -> SSAValue | None:
    """Sort stably, with equal elements ordered by index.

    The position of each element is the number of elements before it, and the elements are gathered
    in that order. If there are too many pairs, a network of log2(n) (log2(n) + 1) / 2 steps
    compares elements at a distance.
    """
    axis, block = integer(op, "dimension"), op.regions[0].block
    dims = shape(op.operands[0])
    if dims[axis] > _EXACT_INDEX or any(byte_size(element(v)) > 4 for v in op.operands):
        return None
    if any(inner.name not in _POINTWISE for inner in _body(block)):
        return None
    if dims[axis] < 2 or 0 in dims:
        return _results(e, list(op.operands))
    last = [d for d in range(len(dims)) if d != axis] + [axis]
    rows = tuple(dims[d] for d in last)
    arrays = [e.transpose(v, last) for v in op.operands]
    key = key_by(block, arrays, e)
    order = _Order(None if key is not None else block)
    back = [last.index(d) for d in range(len(dims))]
    if prod(rows) * rows[-1] <= _MOST_PAIRS:
        places = _ranked(arrays if key is None else [key], order, e)
        out = [
            e.convert(places, element(a)) if counts_along(v, axis) else taken(a, places, e)
            for a, v in zip(arrays, op.operands, strict=True)
        ]
        return _results(e, [e.transpose(v, back) for v in out])
    carried = [] if key is None else [key]
    index = e.iota(rows, len(rows) - 1, f32)
    counted = {i for i, v in enumerate(op.operands) if counts_along(v, axis)}
    carried += [a for i, a in enumerate(arrays) if i not in counted or key is None]
    done = _network(carried, index, rows[-1], order, e)
    moved = done[1 if key is not None else 0 : -1]
    out = []
    for i, array in enumerate(arrays):
        if i in counted and key is not None:
            out.append(e.convert(done[-1], element(array)))
        else:
            out.append(moved.pop(0))
    return _results(e, [e.transpose(v, back) for v in out])


def _ranked(arrays: list[SSAValue], order: _Order, e: Emitter) -> SSAValue:
    """Return the indices (f32) of the elements of each row in sorted order, by blocks of
    elements.
    """
    rows = shape(arrays[0])
    last, n = len(rows) - 1, rows[-1]
    step = max(1, _PAIRS_AT_ONCE // prod(rows))
    ranks: list[SSAValue] = []
    indices: list[SSAValue] = []
    for low in range(0, n, step):
        size = min(step, n - low)
        wide = (*rows[:-1], size, n)
        starts, limits = [0] * last + [low], [*rows[:-1], low + size]
        mine = [e.broadcast(e.slice(a, starts, limits), wide, range(last + 1)) for a in arrays]
        others = [e.broadcast(a, wide, [*range(last), last + 1]) for a in arrays]
        index, other = _counted(wide, last, low, e), e.iota(wide, last + 1, f32)
        before = _before([*others, other], [*mine, index], n, n, order, e)
        ranks.append(e.reduce(e.convert(before, f32), 0, [last + 1], "add"))
    rank = e.concatenate(ranks, last)
    for low in range(0, n, step):
        wide = (*rows[:-1], min(step, n - low), n)
        index, other = _counted(wide, last, low, e), e.iota(wide, last + 1, f32)
        here = e.compare(e.broadcast(rank, wide, [*range(last), last + 1]), index, "EQ")
        taken = e.select(here, other, e.fill_like(0, other))
        indices.append(e.reduce(taken, 0, [last + 1], "add"))
    return e.concatenate(indices, last)


def _counted(dims: tuple[int, ...], dimension: int, low: int, e: Emitter) -> SSAValue:
    """Return values that count along a dimension from `low` on."""
    counts = e.iota(dims, dimension, f32)
    return counts if low == 0 else e.binary_number("add", counts, low)


def taken(array: SSAValue, places: SSAValue, e: Emitter) -> SSAValue:
    """Return the elements of each row at the given positions."""
    front = range(len(shape(array)) - 1)
    last = len(front)
    properties = {
        "offset_dims": i64_array(()),
        "collapsed_slice_dims": i64_array((last,)),
        "operand_batching_dims": i64_array(front),
        "start_indices_batching_dims": i64_array(front),
        "start_index_map": i64_array((last,)),
        "index_vector_dim": i64_attr(last + 1),
        "slice_sizes": i64_array([1] * (last + 1)),
    }
    type_ = tensor(shape(places), element(array))
    return e.emit("gather", [array, e.convert(places, i32)], type_, properties)


def _results(e: Emitter, values: list[SSAValue]) -> SSAValue:
    return values[0] if len(values) == 1 else e.tuple(values)


def _network(
    arrays: list[SSAValue], index: SSAValue, n: int, order: _Order, e: Emitter
) -> list[SSAValue]:
    """Return the arrays, and the index after them, sorted along their last dimension of `n`."""
    size = 1 << (n - 1).bit_length()
    carried = [*arrays, index]
    front = shape(index)[:-1]
    if size > n:
        edges = [0] * len(front)
        fills = [_LARGEST if order.comparator is None and i == 0 else 0 for i in range(len(arrays))]
        carried = [
            e.pad(a, e.scalar(f, element(a)), [*edges, 0], [*edges, size - n])
            for a, f in zip(arrays, fills, strict=True)
        ]
        carried.append(e.iota((*front, size), len(front), f32))
    step = 2
    while step <= size:
        distance = step // 2
        while distance:
            carried = _stage(carried, size, step, distance, n, order, e)
            distance //= 2
        step *= 2
    starts, limits = [0] * (len(front) + 1), [*front, n]
    return [e.slice(a, starts, limits) for a in carried]


def _stage(
    carried: list[SSAValue], size: int, step: int, distance: int, n: int, order: _Order, e: Emitter
) -> list[SSAValue]:
    """Exchange elements `distance` apart, so that blocks of `step` ascend and descend in turn."""
    front = shape(carried[0])[:-1]
    groups = size // (2 * distance)
    split = (*front, groups, 2, distance)
    half = (*front, groups, distance)
    pairs = []
    for array in carried:
        wide = e.reshape(array, split)
        sides = []
        for side in (0, 1):
            starts = [0] * len(split)
            limits = list(split)
            starts[-2], limits[-2] = side, side + 1
            sides.append(e.reshape(e.slice(wide, starts, limits), half))
        pairs.append((sides[0], sides[1]))
    swap = _before([p[1] for p in pairs], [p[0] for p in pairs], n, size, order, e)
    if step < size:
        falling = (np.arange(groups) * 2 * distance // step % 2).astype(np.bool_)
        mask = e.broadcast(e.constant(falling), half, [len(front)])
        swap = e.binary("xor", swap, mask)
    out = []
    for a, b in pairs:
        one = (*front, groups, 1, distance)
        first = e.reshape(e.select(swap, b, a), one)
        second = e.reshape(e.select(swap, a, b), one)
        joined = e.concatenate([first, second], len(front) + 1)
        out.append(e.reshape(joined, (*front, size)))
    return out


def _before(
    a: list[SSAValue], b: list[SSAValue], n: int, size: int, order: _Order, e: Emitter
) -> SSAValue:
    """Return whether a comes before b; the index, the last array, decides between equals.

    Elements are equal if the comparator returns the same for both orders: false, or, for a
    comparator that is not strict, true.
    """
    earlier = e.compare(a[-1], b[-1], "LT")
    if order.comparator is None:  # padding has the largest key and the largest indices
        equal = e.binary("and", e.compare(a[0], b[0], "EQ"), earlier)
        return e.binary("or", e.compare(a[0], b[0], "LT"), equal)
    mixed = [v for pair in zip(a[:-1], b[:-1], strict=True) for v in pair]
    other = [v for pair in zip(b[:-1], a[:-1], strict=True) for v in pair]
    less = _inlined(order.comparator, mixed, e)
    more = _inlined(order.comparator, other, e)
    less = e.select(e.binary("xor", less, more), less, earlier)
    if size == n:
        return less
    padding = [e.compare_number(v[-1], n, "GE") for v in (a, b)]
    both = e.binary("and", e.compare_number(a[-1], n, "LT"), padding[1])
    same = e.unary("not", e.binary("xor", *padding))
    return e.binary("or", both, e.binary("and", same, less))


def _body(block: Block) -> list[Operation]:
    return [op for op in block.ops if op is not block.last_op and op.name != "hlo.constant"]


def _inlined(
    block: Block, args: list[SSAValue], e: Emitter, wanted: SSAValue | None = None
) -> SSAValue:
    """Evaluate a region of scalar ops for each element of `args`."""
    assert block.last_op is not None
    dims = shape(args[0])
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, args, strict=True))
    target = block.last_op.operands[0] if wanted is None else wanted

    def value_of(ssa: SSAValue) -> SSAValue:
        if ssa not in values:
            array = constant(ssa)
            assert isinstance(ssa, OpResult) and isinstance(ssa.type, TensorType)
            if array is not None:
                values[ssa] = e.fill(array, tensor(dims, ssa.type.element_type))
            else:
                operands = [value_of(v) for v in ssa.op.operands]
                type_ = tensor(dims, ssa.type.element_type)
                values[ssa] = e.like(ssa.op, operands, type_)
        return values[ssa]

    return value_of(target)


def key_by(block: Block, arrays: list[SSAValue], e: Emitter) -> SSAValue | None:
    """Return s32 keys in the comparator's order.

    Returns None if the comparator does not compare one function of each side.
    """
    assert block.last_op is not None
    root = block.last_op.operands[0]
    compare = producer(root, "compare")
    if compare is None or string(compare, "direction") not in ("LT", "GT"):
        return None
    lhs, rhs = compare.operands
    sides = [_arguments(v) for v in (lhs, rhs)]
    if any(len({i % 2 for i in side}) != 1 for side in sides):
        return None
    first = min(sides[0]) % 2
    if min(sides[1]) % 2 == first or not _alike(lhs, rhs):
        return None
    falling = (string(compare, "direction") == "GT") != (first == 1)
    args = [a for a in arrays for _ in (0, 1)]
    value = _inlined(block, args, e, lhs)
    type_ = element(value)
    if is_float(type_):
        if byte_size(type_) > 4:
            return None
        wide = e.convert(value, f32)
        if string(compare, "compare_type") != "TOTALORDER":  # both zeros are equal
            zero = e.fill_like(0, wide)
            wide = e.select(e.compare(wide, zero, "EQ"), zero, wide)
        key = key_of(wide, e)
    elif is_unsigned(type_) and byte_size(type_) == 4:
        key = e.binary_number("xor", e.bitcast(value, i32), -(2**31))
    elif is_integer(type_) or is_pred(type_):
        key = e.convert(value, i32)
    else:
        return None
    return e.unary("not", key) if falling else key


def _arguments(value: SSAValue) -> set[int]:
    """Return the numbers of the block arguments on which a value depends."""
    if isinstance(value, BlockArgument):
        return {value.index}
    if not isinstance(value, OpResult):
        return set()
    return {i for operand in value.op.operands for i in _arguments(operand)}


def _alike(a: SSAValue, b: SSAValue) -> bool:
    """Return whether b computes from the other side's arguments what a computes from its own."""
    if isinstance(a, BlockArgument) and isinstance(b, BlockArgument):
        return a.index // 2 == b.index // 2
    if a is b:
        return True
    if not isinstance(a, OpResult) or not isinstance(b, OpResult) or a.op.name != b.op.name:
        return False
    ours, theirs = constant(a), constant(b)
    if ours is not None and theirs is not None:
        return bool(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind not in "iub"))
    if a.op.properties != b.op.properties or len(a.op.operands) != len(b.op.operands):
        return False
    return all(_alike(x, y) for x, y in zip(a.op.operands, b.op.operands, strict=True))


def _parts(dims: Sequence[int], k: int) -> int:
    """Return the number of parts of a row, so that there is one for each partition.

    Returns 1 if parts would have only a few more elements than are selected from each.
    """
    rows, n = prod(dims[:-1]), dims[-1]
    fit = [c for c in range(1, PARTITIONS // max(1, rows) + 1) if n % c == 0 and n // c >= 4 * k]
    return max(fit, default=1)


def _best(keys: SSAValue, index: SSAValue, k: int, n: int, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the k largest keys of each row, equal ones by lowest index.

    `index` is below n and unique in a row.
    """
    dims = shape(keys)
    last = len(dims) - 1
    columns: list[tuple[SSAValue, SSAValue]] = []
    free = e.fill(True, tensor(dims, i1))
    least = -(2**31)
    rest = keys
    for _ in range(k):
        best = e.reduce(rest, least, [last], "maximum")
        wide = e.broadcast(best, dims, range(last))
        same = e.binary("and", e.compare(rest, wide, "EQ"), free)
        place = e.reduce(e.select(same, index, e.fill_like(n, index)), np.inf, [last], "minimum")
        here = e.compare(index, e.broadcast(place, dims, range(last)), "NE")
        free = e.binary("and", free, here)
        rest = e.select(here, rest, e.fill_like(least, rest))
        one = (*dims[:-1], 1)
        columns.append((e.reshape(best, one), e.reshape(place, one)))
    return (
        e.concatenate([c[0] for c in columns], last),
        e.concatenate([c[1] for c in columns], last),
    )


def topk(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the k best of each row by k selections of the first best element; sort if k is
    large.
    """
    x = op.operands[0]
    if byte_size(element(x)) > 4 or 0 in shape(x):
        return None
    k, largest = integer(op, "k"), bool(integer(op, "largest"))
    dims = shape(x)
    n = dims[-1]
    if n > _EXACT_INDEX:
        return None
    key = _sort_key(x, e)
    if key is None:
        return None
    key = e.unary("not", key) if not largest else key
    index = e.iota(dims, len(dims) - 1, f32)
    steps = (n - 1).bit_length()
    if 3 * k > 2 * steps * (steps + 1):
        starts, limits = [0] * len(dims), [*dims[:-1], k]
        down = e.unary("not", key)
        if prod(dims) * n <= _MOST_PAIRS:
            places = e.slice(_ranked([down], _Order(None), e), starts, limits)
            return e.tuple([taken(x, places, e), e.convert(places, i32)])
        done = _network([down], index, n, _Order(None), e)
        keys, places = (e.slice(v, starts, limits) for v in done)
        keys = e.unary("not", keys)
    else:
        parts = _parts(dims, k)
        if parts > 1:  # the best of each part, on as many partitions, then the best of those
            split = [*dims[:-1], parts, n // parts]
            pair = _best(e.reshape(key, split), e.reshape(index, split), k, n, e)
            key, index = (e.reshape(v, [*dims[:-1], parts * k]) for v in pair)
        keys, places = _best(key, index, k, n, e)
    keys = e.unary("not", keys) if not largest else keys
    return e.tuple([_from_sort_key(keys, element(x), e), e.convert(places, i32)])


def _sort_key(x: SSAValue, e: Emitter) -> SSAValue | None:
    """Return s32 keys in the order of x; floats are in total order."""
    type_ = element(x)
    if is_float(type_):
        return key_of(x, e)
    if is_unsigned(type_) and byte_size(type_) == 4:
        return e.binary_number("xor", e.bitcast(x, i32), -(2**31))
    return e.convert(x, i32) if is_integer(type_) or is_pred(type_) else None


def _from_sort_key(key: SSAValue, type_: Attribute, e: Emitter) -> SSAValue:
    """Return the value with a key."""
    if is_float(type_):
        return e.convert(from_key(key, e), type_)
    if is_unsigned(type_) and byte_size(type_) == 4:
        return e.bitcast(e.binary_number("xor", key, -(2**31)), type_)
    return e.convert(key, type_)


RULES: dict[str, Rule] = {"sort": sort, "topk": topk}
