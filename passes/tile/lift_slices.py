"""Take slices of a value before its views, where all readers of a dot take disjoint slices.

%r = hlo.reshape %dot : 49x288 -> 49x3x96       %s = hlo.slice %dot [0:49, 96:192]
%s = hlo.slice %r [0:49, 1:2, 0:96]         ->  %r = hlo.reshape %s : 49x96 -> 49x1x96
"""

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.casts import cast_at_once
from neuronir.passes.tile.group import loaded
from neuronir.passes.tile.sink_slices import slice_of
from neuronir.passes.tile.split_slices import split_op

THROUGH = ("hlo.reshape", "hlo.transpose", "hlo.convert")

Range = tuple[int, int]
"""The first position along a dimension, and the one after the last."""


def lift_slices(block: Block) -> None:
    """Move the slices of each dot of a block before the views and conversions of its result."""
    for op in list(block.ops):
        if op.name != "hlo.dot" or op.parent is not block:
            continue
        cast_at_once(op)
        slices = list(_slices(op.results[0]))
        if len(slices) < 2 or None in slices:
            continue
        parts = [(path, _before(path)) for path in slices if path is not None]
        if any(ranges is None for _, ranges in parts) or not _apart([r for _, r in parts if r]):
            continue
        for path, ranges in parts:
            assert ranges is not None
            _lift(op, path, ranges)
        split_op(op)


def slice_arguments(block: Block) -> None:
    """Read slices of arguments that only dots read where they are, instead of copying them.

    A slice becomes `tensor.extract_slice`, in front of conversions that are part of its load.
    """
    for op in list(block.ops):
        if op.name != "hlo.slice" or any(n != 1 for n in ints(op, "strides")):
            continue
        if loaded(op.operands[0]) and _only_dots(op.results[0]):
            found = slice_of(
                Emitter(op), op.operands[0], ints(op, "start_indices"), shape_of(op.results[0])
            )
            op.results[0].replace_all_uses_with(found)
            erase_dead(op)


def _only_dots(value: SSAValue) -> bool:
    """Return whether only dots read a value, possibly permuted or converted."""
    readers = [use.operation for use in value.uses]
    return all(
        op.name == "hlo.dot"
        or (op.name in THROUGH and _passes_on(op) and _only_dots(op.results[0]))
        for op in readers
    )


def _slices(value: SSAValue) -> Iterator[list[Operation] | None]:
    """Yield the ops from a value to each slice of it, or None for another reader."""
    for use in value.uses:
        op = use.operation
        if op.name == "hlo.slice":
            yield [op] if all(n == 1 for n in ints(op, "strides")) else None
        elif op.name in THROUGH and _passes_on(op):
            for path in _slices(op.results[0]):
                yield None if path is None else [op, *path]
        else:
            yield None


def _passes_on(op: Operation) -> bool:
    """Return whether an op is a view, or a conversion between floats."""
    return op.name != "hlo.convert" or all(
        is_float(element(v)) for v in (op.operands[0], op.results[0])
    )


def _before(path: Sequence[Operation]) -> list[Range] | None:
    """Return the part of the first operand that the slice at the end of a path reads."""
    last = path[-1]
    ranges = list(zip(ints(last, "start_indices"), ints(last, "limit_indices"), strict=True))
    for op in reversed(path[:-1]):
        source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
        if op.name == "hlo.transpose":
            order = ints(op, "permutation")
            ranges = [ranges[order.index(d)] for d in range(len(order))]
        elif op.name == "hlo.reshape":
            found = through_reshape(source, shape, ranges)
            if found is None:
                return None
            ranges = found
    return ranges


def through_reshape(
    source: Sequence[int], shape: Sequence[int], ranges: Sequence[Range]
) -> list[Range] | None:
    """Return the part of a reshape's operand (of shape `source`) that a part of its result is.

    Returns None if it is not a range along each dimension.
    """
    found: list[Range] = []
    for before, after in _factors(source, shape):
        mine = [ranges[d] for d in after]
        sizes = [shape[d] for d in after]
        cut = [i for i, (r, n) in enumerate(zip(mine, sizes, strict=True)) if r != (0, n)]
        if not cut:
            found += [(0, source[d]) for d in before]
            continue
        (at, *more) = cut
        if more or prod(sizes[:at]) != 1 or not before:
            return None
        first, end = (place * prod(sizes[at + 1 :]) for place in mine[at])
        wide = next((d for d in before if source[d] > 1), before[0])
        unit = prod(source[d] for d in before if d > wide)
        if first % unit or end % unit:
            return None
        found += [(first // unit, end // unit) if d == wide else (0, source[d]) for d in before]
    return found


def _factors(
    source: Sequence[int], shape: Sequence[int]
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the smallest groups of adjacent dimensions of two shapes that have equal sizes."""
    i = j = 0
    while i < len(source) or j < len(shape):
        first, other = i, j
        a = b = 1
        while a != b or first == i or other == j:
            if (a <= b and i < len(source)) or j == len(shape):
                if i == len(source):
                    break
                a *= source[i]
                i += 1
            else:
                b *= shape[j]
                j += 1
        yield range(first, i), range(other, j)


def _apart(parts: Sequence[Sequence[Range]]) -> bool:
    """Return whether parts of a value differ along one dimension, and do not overlap."""
    dims = [d for d, ranges in enumerate(zip(*parts, strict=True)) if len(set(ranges)) > 1]
    if len(dims) != 1:
        return False
    ends = sorted(part[dims[0]] for part in parts)
    return all(b <= c for (_, b), (c, _) in zip(ends, ends[1:], strict=False))


def _lift(dot: Operation, path: Sequence[Operation], ranges: Sequence[Range]) -> None:
    """Slice the result of a dot, and view the slice as the ops of a path do."""
    last = path[-1]
    build = Emitter(last, source=last)
    value = build.slice(dot.results[0], [a for a, _ in ranges], [b for _, b in ranges])
    for i, op in enumerate(path[:-1]):
        if op.name == "hlo.transpose":
            value = build.transpose(value, ints(op, "permutation"))
        elif op.name == "hlo.reshape":
            value = build.reshape(value, [b - a for a, b in _before(path[i + 1 :]) or ()])
        else:
            value = build.convert(value, element(op.results[0]))
    last.results[0].replace_all_uses_with(value)
    erase_dead(last)
