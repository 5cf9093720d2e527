"""Simplify slice, pad, concatenate, reverse, iota, and dynamic slices at known indices."""

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.contents import Array
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    ints,
    producer,
    shape,
    size,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule


def slice_(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove full slices; merge slice(slice), slice(broadcast), slice(concatenate) of one piece."""
    operand = op.operands[0]
    starts, limits = ints(op, "start_indices"), ints(op, "limit_indices")
    strides = ints(op, "strides") or (1,) * len(starts)
    if shape(operand) == shape(op.results[0]) and all(s == 1 for s in strides):
        return operand
    inner = producer(operand, "slice")
    if inner is not None:
        low = ints(inner, "start_indices")
        step = ints(inner, "strides") or (1,) * len(low)
        begin = [a + s * b for a, s, b in zip(low, step, starts, strict=True)]
        both = [s * t for s, t in zip(step, strides, strict=True)]
        count = shape(op.results[0])
        end = [
            b if n == 0 else b + (n - 1) * t + 1 for b, n, t in zip(begin, count, both, strict=True)
        ]
        return e.slice(inner.operands[0], begin, end, both)
    inner = producer(operand, "broadcast")
    if inner is not None:
        dimensions = ints(inner, "dimensions")
        source = inner.operands[0]
        small = e.slice(
            source,
            [starts[d] for d in dimensions],
            [limits[d] for d in dimensions],
            [strides[d] for d in dimensions],
        )
        return e.broadcast(small, shape(op.results[0]), dimensions)
    inner = producer(operand, "concatenate")
    return None if inner is None else _slice_of_concatenate(op, inner, e)


def _slice_of_concatenate(op: Operation, inner: Operation, e: Emitter) -> SSAValue | None:
    d = integer(inner, "dimension")
    starts, limits = list(ints(op, "start_indices")), list(ints(op, "limit_indices"))
    strides = list(ints(op, "strides") or (1,) * len(starts))
    begin = 0
    for piece in inner.operands:
        end = begin + shape(piece)[d]
        if begin <= starts[d] and limits[d] <= end and starts[d] < end:
            starts[d], limits[d] = starts[d] - begin, limits[d] - begin
            return e.slice(piece, starts, limits, strides)
        begin = end
    return None


def pad(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove empty padding; rewrite pads that only cut as slices."""
    operand = op.operands[0]
    low, high = ints(op, "edge_padding_low"), ints(op, "edge_padding_high")
    interior = ints(op, "interior_padding") or (0,) * len(low)
    if any(gap and n > 1 for gap, n in zip(interior, shape(operand), strict=True)):
        return None
    if any(n > 0 for n in (*low, *high)):
        return None
    dims = shape(operand)
    return e.slice(operand, [-n for n in low], [d + n for d, n in zip(dims, high, strict=True)])


def concatenate(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove empty and single pieces, flatten nested concatenations, join adjacent slices, and pad
    a piece that is between constants.
    """
    d = integer(op, "dimension")
    pieces = [v for v in op.operands if shape(v)[d] != 0]
    if not pieces:
        return op.operands[0]
    if len(pieces) < len(op.operands):
        return e.concatenate(pieces, d)
    if len(pieces) == 1:
        return pieces[0]
    flat: list[SSAValue] = []
    for piece in pieces:
        inner = producer(piece, "concatenate")
        nested = inner is not None and integer(inner, "dimension") == d and piece.has_one_use()
        flat.extend(inner.operands if inner is not None and nested else [piece])
    joined = _join_slices(flat, d, e)
    if len(flat) != len(pieces) or len(joined) != len(flat):
        return e.concatenate(joined, d)
    values = [splat(v) for v in pieces]
    first = values[0]
    if first is not None and all(v is not None and v.tobytes() == first.tobytes() for v in values):
        return e.fill(first, op.results[0].type)
    return _padded(pieces, values, d, e)


def _padded(
    pieces: list[SSAValue], values: list[Array | None], d: int, e: Emitter
) -> SSAValue | None:
    """Return the only piece that is not a constant, padded with the number of the others."""
    others = [i for i, v in enumerate(values) if v is None]
    numbers = {v.tobytes(): v for v in values if v is not None}
    if len(others) != 1 or len(numbers) != 1:
        return None
    (at,), (number,) = others, numbers.values()
    low, high = [0] * len(shape(pieces[at])), [0] * len(shape(pieces[at]))
    low[d] = sum(shape(v)[d] for v in pieces[:at])
    high[d] = sum(shape(v)[d] for v in pieces[at + 1 :])
    return e.pad(pieces[at], e.scalar(number, element(pieces[at])), low, high)


def _join_slices(pieces: list[SSAValue], d: int, e: Emitter) -> list[SSAValue]:
    result: list[SSAValue] = []
    for piece in pieces:
        last, here = (producer(v, "slice") for v in (result[-1] if result else piece, piece))
        if not result or last is None or here is None or last.operands[0] is not here.operands[0]:
            result.append(piece)
            continue
        begin = [list(ints(v, "start_indices")) for v in (last, here)]
        end = [list(ints(v, "limit_indices")) for v in (last, here)]
        whole = all(s == 1 for v in (last, here) for s in ints(v, "strides"))
        adjacent = end[0][d] == begin[1][d] and all(
            begin[0][k] == begin[1][k] and end[0][k] == end[1][k]
            for k in range(len(begin[0]))
            if k != d
        )
        if whole and adjacent:
            end[0][d] = end[1][d]
            result[-1] = e.slice(here.operands[0], begin[0], end[0])
        else:
            result.append(piece)
    return result


def reverse(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove reversals of dimensions of size 1; merge reverse(reverse)."""
    operand = op.operands[0]
    dims = [d for d in ints(op, "dimensions") if shape(operand)[d] > 1]
    inner = producer(operand, "reverse")
    if inner is not None:
        operand = inner.operands[0]
        dims = sorted(set(dims) ^ set(ints(inner, "dimensions")))
    if splat(operand) is not None or not dims:
        return operand
    if len(dims) == len(ints(op, "dimensions")) and inner is None:
        return None
    return e.emit("reverse", [operand], op.results[0].type, {"dimensions": i64_array(dims)})


def _known_starts(
    indices: list[SSAValue], dims: tuple[int, ...], sizes: tuple[int, ...]
) -> list[int] | None:
    """Return the clamped start of each dimension, if each is known or irrelevant."""
    starts: list[int] = []
    for value, n, k in zip(indices, dims, sizes, strict=True):
        number = splat(value)
        if n == k:
            starts.append(0)
        elif number is None:
            return None
        else:
            starts.append(min(max(int(number), 0), n - k))
    return starts


def dynamic_slice(op: Operation, e: Emitter) -> SSAValue | None:
    """dynamic_slice at known indices -> slice."""
    operand, *indices = op.operands
    sizes = shape(op.results[0])
    starts = _known_starts(indices, shape(operand), sizes)
    if starts is None:
        return None
    return e.slice(operand, starts, [a + n for a, n in zip(starts, sizes, strict=True)])


def dynamic_update_slice(op: Operation, e: Emitter) -> SSAValue | None:
    """Simplify dynamic_update_slice.

    An update of the whole operand is the update, and an empty update is the operand. A chain of
    updates at known positions that fills the array along one dimension is their concatenation.
    """
    operand, update, *_ = op.operands
    if shape(operand) == shape(update):
        return update
    return operand if size(update) == 0 else _filled(op, e)


def scatter(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a scatter by its operand if that, or the updates, have no elements."""
    if len(op.results) != 1:
        return None
    operand, _, update = op.operands
    return operand if 0 in (size(operand), size(update)) else None


def _known_update(op: Operation) -> tuple[int, int] | None:
    """Return (dimension, start) of an update at a known position, partial in one dimension only."""
    operand, update, *indices = op.operands
    starts = _known_starts(indices, shape(operand), shape(update))
    axes = [d for d, n in enumerate(shape(operand)) if shape(update)[d] != n]
    return None if starts is None or len(axes) != 1 else (axes[0], starts[axes[0]])


def _filled(op: Operation, e: Emitter) -> SSAValue | None:
    use = op.results[0].get_unique_use()
    if use is not None and use.operation.name == op.name and use.index == 0:
        return None  # the last op of the chain handles it
    first = _known_update(op)
    pieces: dict[int, SSAValue] = {}
    missing = 0 if first is None else shape(op.results[0])[first[0]]
    link: Operation | None = op
    while first is not None and link is not None and missing > 0:
        place = _known_update(link)
        update = link.operands[1]
        if place is None or place[0] != first[0] or place[1] in pieces:
            return None
        pieces[place[1]] = update
        missing -= shape(update)[first[0]]
        link = producer(link.operands[0], "dynamic_update_slice")
        if link is not None and not link.results[0].has_one_use():
            link = None
    if first is None or missing != 0:
        return None
    end = 0
    for start in sorted(pieces):
        if start != end:
            return None
        end += shape(pieces[start])[first[0]]
    return e.concatenate([pieces[start] for start in sorted(pieces)], first[0])


def iota(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite an iota with several dimensions as a 1-D iota and a broadcast; size 1 gives 0."""
    dims, d = shape(op.results[0]), integer(op, "iota_dimension")
    if dims[d] == 1:
        return e.fill(0, op.results[0].type)
    if len(dims) == 1:
        return None
    line = e.iota((dims[d],), 0, element(op.results[0]))
    return e.broadcast(line, dims, (d,))


def zero_size(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite an empty slice or pad as an empty constant."""
    if size(op.results[0]) != 0 or not op.operands:
        return None
    return e.fill(0, tensor(shape(op.results[0]), element(op.results[0])))


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.slice": (zero_size, slice_),
    "hlo.pad": (pad,),
    "hlo.concatenate": (zero_size, concatenate),
    "hlo.reverse": (reverse,),
    "hlo.dynamic_slice": (dynamic_slice,),
    "hlo.dynamic_update_slice": (dynamic_update_slice,),
    "hlo.scatter": (scatter,),
    "hlo.iota": (iota,),
}
