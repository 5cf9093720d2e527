"""Map partitions through views.

A partition is a tuple of (digit, step): digits of the element number of a value, with the number of
partitions between successive positions of each. Digits at or beyond the size of a value repeat it,
as for a row that all partitions need.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Atom, atom, join, row_major, split_at
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.tile.whole import MARK

Partition = tuple[tuple[Atom, int], ...]


def positions(partition: Partition) -> int:
    """Return the positions of all digits together."""
    return prod(a.size for a, _ in partition)


def in_order(pairs: Iterable[tuple[Atom, int]], size: int = 0) -> Partition:
    """Return the canonical form of a partition: outermost first, neighbours joined.

    A digit of a value of `size` elements is not joined with one that repeats the value.
    """
    found = join(sorted((p for p in pairs if p[0].size > 1), key=lambda p: -p[1]))
    if not any(a.stride < size < a.end for a, _ in found):
        return found
    out: list[tuple[Atom, int]] = []
    for a, step in found:
        parts = split_at(a, (size,))
        assert parts is not None  # it was joined there
        out += [(b, step * (b.stride // a.stride)) for b in parts]
    return tuple(out)


def own(partition: Partition, size: int) -> Partition:
    """Return the digits that belong to a value of that size, without those that repeat it."""
    return tuple((a, s) for a, s in partition if a.stride < size)


def repeats(partition: Partition, size: int) -> Partition:
    """Return the digits that repeat a value of that size."""
    return tuple((a, s) for a, s in partition if a.stride >= size)


def repeated(pairs: Sequence[tuple[int, int]], size: int) -> Partition:
    """Return digits of (size, step) that repeat a value of `size` elements."""
    out: list[tuple[Atom, int]] = []
    stride = max(size, 1)
    for n, step in sorted(pairs, key=lambda p: p[1]):
        out.append((atom(n, stride), step))
        stride *= n
    return tuple(reversed(out))


def everywhere(size: int, partitions: int) -> Partition:
    """Return the partition of a value of `size` elements that is on all partitions."""
    return ((atom(partitions, max(size, 1)), 1),)


@lru_cache(maxsize=100_000)
def cut(partition: Partition, shape: tuple[int, ...]) -> tuple[tuple[Atom, int, int], ...] | None:
    """Split a partition at the borders of dimensions: (digit, step, dimension).

    Returns None if a digit spans two dimensions. Digits that repeat have dimension -1.
    """
    edges = borders(shape)
    strides = row_major(shape)
    size = prod(shape)
    out: list[tuple[Atom, int, int]] = []
    for whole, step in partition:
        if whole.stride >= size:
            out.append((whole, step, -1))
            continue
        parts = split_at(whole, edges)
        if parts is None:
            return None
        for a in parts:
            d = next(
                (
                    i
                    for i, (s, n) in enumerate(zip(strides, shape, strict=True))
                    if n > 1
                    and s <= a.stride
                    and a.end <= s * n
                    and a.stride % s == 0 == s * n % a.end
                ),
                None,
            )
            if d is None:
                return None
            out.append((a, step * (a.stride // whole.stride), d))
    return tuple(out)


def pieces_of(partition: Partition, shape: tuple[int, ...]) -> tuple[tuple[Atom, int, int], ...]:
    """Split a partition as `cut` does. Raises NeuronError if a digit spans two dimensions: taken
    for no digits, it would leave rows out."""
    pieces = cut(partition, shape)
    if pieces is None:
        raise NeuronError("NIR_TIL001", "a digit on partitions spans parts of two dimensions")
    return pieces


def through_dims(
    partition: Partition,
    shape: tuple[int, ...],
    target: tuple[int, ...],
    dims: Sequence[int | None],
) -> Partition | None:
    """Map a partition of a value of `shape` to one of a value of `target`.

    Dimension d of the first is dimension `dims[d]` of the second. Digits of unmapped dimensions
    repeat the second value.
    """
    pieces = cut(partition, shape)
    if pieces is None:
        return None
    old, new = row_major(shape), row_major(target)
    out: list[tuple[Atom, int]] = []
    over: list[tuple[int, int]] = []
    for a, step, d in pieces:
        to = dims[d] if d >= 0 else None
        if to is None or target[to] == 1:
            over.append((a.size, step))
        else:
            out.append((atom(a.size, a.stride // old[d] * new[to]), step))
    return in_order([*out, *repeated(over, prod(target))], prod(target))


def back(op: Operation, partition: Partition) -> Partition | None:
    """Return the partition of a view's operand for which the view has `partition`."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name in ("hlo.reshape", "hlo.bitcast"):
        return partition
    if op.name == "hlo.broadcast":
        place = ints(op, "dimensions")
        dims = [place.index(d) if d in place else None for d in range(len(result))]
        return through_dims(partition, result, source, dims)
    if op.name == "hlo.transpose":
        return through_dims(partition, result, source, list(ints(op, "permutation")))
    if op.name in SLICES:
        return _back_slice(op, partition, source, result)
    return None


def _back_slice(
    op: Operation, partition: Partition, source: tuple[int, ...], result: tuple[int, ...]
) -> Partition | None:
    """Return the partition of a slice's operand for which the slice has `partition`; None if digits
    do not divide the slice and its start.
    """
    pieces = cut(partition, result)
    if pieces is None or not _whole_digits(op, pieces, result):
        return None
    return through_dims(partition, result, source, list(range(len(result))))


def _whole_digits(
    op: Operation,
    pieces: Sequence[tuple[Atom, int, int]],
    shape: tuple[int, ...],
) -> bool:
    """Return whether digits are whole in a slice of a source with that `shape`."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    strides = row_major(shape)
    starts, steps = slice_numbers(op)
    for a, _, d in pieces:
        if d < 0 or source[d] == result[d]:
            continue
        reach = a.end // strides[d]
        if steps[d] != 1 or result[d] % reach or starts[d] % reach or source[d] % reach:
            return False
    return True


def slice_numbers(op: Operation) -> tuple[list[int], list[int]]:
    """Return the start positions of a slice, 0 for moving ones, and its strides."""
    if op.name == "hlo.slice":
        return list(ints(op, "start_indices")), list(ints(op, "strides"))
    # a moving slice starts at a multiple of its size
    starts = [0 if n == DYNAMIC_INDEX else n for n in ints(op, "static_offsets")]
    return starts, list(ints(op, "static_strides"))


def forward(op: Operation, partition: Partition) -> Partition | None:
    """Return the partition of a view whose operand has `partition`."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.name in ("hlo.reshape", "hlo.bitcast"):
        return partition
    if op.name == "hlo.broadcast":
        place = ints(op, "dimensions")
        dims: list[int | None] = [
            d if n == result[d] else None for d, n in zip(place, source, strict=True)
        ]
        return through_dims(partition, source, result, dims)
    if op.name == "hlo.transpose":
        permutation = ints(op, "permutation")
        return through_dims(
            partition, source, result, [permutation.index(d) for d in range(len(source))]
        )
    if op.name in SLICES:
        return _cut_whole(op, partition, source, result)
    return None


def _cut_whole(
    op: Operation, partition: Partition, source: tuple[int, ...], result: tuple[int, ...]
) -> Partition | None:
    """Return the partition of a slice: its digits must divide the slice, and its start."""
    pieces = cut(partition, source)
    if pieces is None or not _whole_digits(op, pieces, source):
        return None
    return through_dims(partition, source, result, list(range(len(result))))


def chain(value: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """Return the base of a value, and the views in between, nearest first."""
    views: list[Operation] = []
    while isinstance(value.owner, Operation) and sees(value.owner):
        views.append(value.owner)
        value = value.owner.operands[0]
    return value, views


SLICES = ("hlo.slice", "tensor.extract_slice")
VIEWS = ("hlo.reshape", "hlo.bitcast", "hlo.broadcast", "hlo.transpose", *SLICES)
"""Ops without an instruction: the layout of their operand determines theirs."""


def sees(op: Operation) -> bool:
    """Return whether an op is a view, not lowered as a whole."""
    return op.name in VIEWS and MARK not in op.attributes
