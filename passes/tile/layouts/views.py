"""Map full layouts through views, whose elements are those of their operand."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer, ints
from neuronir.passes.lowering.layouts.layout import Atom, atom, join, parts_of, row_major, split_at
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.tile.layouts.maps import (
    SLICES,
    forward,
    in_order,
    own,
    repeated,
    repeats,
    slice_numbers,
)
from neuronir.passes.tile.layouts.place import Place


def see(op: Operation, where: Place) -> Place:
    """Return the layout of a view whose operand has the layout `where`."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name in ("hlo.reshape", "hlo.bitcast"):
        return where
    if op.name in SLICES:
        return _sliced(where, source, result)
    partition = forward(op, where.partition)
    assert partition is not None
    free: list[tuple[Atom, int]] = []
    if op.name == "hlo.broadcast":
        dims = list(ints(op, "dimensions"))
    else:
        permutation = ints(op, "permutation")
        dims = [permutation.index(d) for d in range(len(source))]
    old, new = row_major(source), row_major(result)
    edges = borders(source)
    for whole, step in where.free:
        for a in parts_of(whole, edges):
            d = next(
                i
                for i, (s, n) in enumerate(zip(old, source, strict=True))
                if n > 1 and s <= a.stride < s * n
            )
            free.append(
                (atom(a.size, a.stride // old[d] * new[dims[d]]), step * (a.stride // whole.stride))
            )
    return Place(partition, join(sorted(free, key=lambda p: -p[1])))


def straddles(where: Place, shape: Sequence[int]) -> bool:
    """Return whether a free digit covers a part of a dimension together with another dimension."""
    edges = borders(shape)
    return any(split_at(a, edges) is None for a, _ in where.free)


def in_pieces(op: Operation, where: Place) -> bool:
    """Return whether a view splits digits of the free axis of its operand in layout `where`.

    A digit must not cover a part of a dimension together with another dimension. In a slice, all
    digits of a dimension except the outermost must be whole.
    """
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name in ("hlo.reshape", "hlo.bitcast"):
        return False
    if straddles(where, source):
        return True
    if op.name not in SLICES:
        return False
    starts, steps = slice_numbers(op)
    old, edges = row_major(source), borders(source)
    for whole, _ in where.free:
        for a in parts_of(whole, edges):
            d = next(i for i, s in enumerate(old) if source[i] > 1 and s <= a.stride)
            unit, reach = a.stride // old[d], a.end // old[d]
            if source[d] == result[d] or reach - unit + 1 == source[d]:
                continue
            least = unit if reach == source[d] else reach
            if steps[d] != 1 or result[d] % least or starts[d] % least:
                return True
    return False


def _sliced(where: Place, source: tuple[int, ...], result: tuple[int, ...]) -> Place:
    """Return the digits of a slice: those of a sliced dimension shrink to the remaining size."""
    old, new = row_major(source), row_major(result)
    edges = borders(source)
    size = prod(source)
    groups: list[list[tuple[Atom, int]]] = [[], []]
    for group, pairs in zip(groups, (own(where.partition, size), where.free), strict=True):
        for whole, step in pairs:
            for a in parts_of(whole, edges):
                d = next(
                    i
                    for i, (s, n) in enumerate(zip(old, source, strict=True))
                    if n > 1 and s <= a.stride < s * n
                )
                unit = a.stride // old[d]
                kept = min(a.size, max(1, result[d] // unit))
                if kept > 1:
                    each = step * (a.stride // whole.stride)
                    group.append((atom(kept, unit * new[d]), each))
    again = [(a.size, s) for a, s in repeats(where.partition, size)]
    return Place(
        in_order([*groups[0], *repeated(again, prod(result))], prod(result)), join(groups[1])
    )


def takes_parts(op: Operation, where: Place) -> bool:
    """Return whether each operand of a concatenation is a box of a result with these free digits.

    Along its dimension, a digit whose neighbour does not lie behind it must not be cut by an
    operand.
    """
    shape, along = shape_of(op.results[0]), integer(op, "dimension")
    unit, edges = row_major(shape)[along], borders(shape)
    mine = sorted(
        (a.stride // unit, a.size, stride * (a.stride // whole.stride))
        for whole, stride in where.free
        for a in parts_of(whole, edges)
        if unit <= a.stride < unit * shape[along]
    )
    cuts = [first * n for (first, n, step), (_, _, outer) in pairwise(mine) if outer != n * step]
    return all(shape_of(v)[along] % cut == 0 for v in op.operands for cut in cuts)
