"""Import sums, means and maxima over bags of rows of a table (nn.EmbeddingBag)."""

import math

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph import indexing as at
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_to
from neuronir.frontends.graph.linear import dot
from neuronir.frontends.graph.reductions import reduce, total, wide
from neuronir.frontends.torch.node import Node, element, shape
from neuronir.frontends.torch.registry import operator
from neuronir.frontends.torch.types import Array

SUM, MEAN, MAX = range(3)
"""Values of argument `mode`."""


@operator("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(n: Node) -> list[SSAValue | None]:
    """Reduce the rows of each bag; an empty bag gives zeros."""
    if any(n.wants(i) for i in (1, 2, 3)):
        refuse("only the first result is supported: the gradient of an embedding bag is not")
    b, indices = n.b, n["indices"]
    rows = wide(b, at.take(b, n["weight"], indices, 0))
    weights = n.get("per_sample_weights")
    if weights is not None:
        rows = b.binary("multiply", rows, along(b, wide(b, weights), shape(rows), 0))
    counted = b.fill(1, tensor_type(shape(indices), i1))
    if n.value("padding_idx", -1) >= 0:
        counted = b.compare_number(indices, n.value("padding_idx"), "NE")
    starts = b.known(n["offsets"])
    bags = n.dims()[0]
    if starts is not None:
        count = shape(indices)[0]
        if n.value("mode", SUM) != SUM and _has_last(n) and starts[-1] != count:
            # torch ends the last bag there for sums only.
            refuse(f"the last offset must be the number of indices, {count}, is {starts[-1]}")
        ends = starts[1:] if _has_last(n) else np.append(starts[1:], count)
        rows, counted = _padded(n, rows, counted, starts[:bags], ends)
        return [n.cast(_reduced(n, rows, counted)), None, None, None]
    counted = b.binary("and", _members(n, bags), broadcast_to(b, counted, (bags, *shape(counted))))
    if n.value("mode", SUM) == MAX:
        rows = b.broadcast(rows, (bags, *shape(rows)), (1, 2))
        return [n.cast(_reduced(n, rows, counted)), None, None, None]
    chosen = b.convert(counted, element(rows))
    found = _sums(n, chosen, rows)
    if n.value("mode", SUM) == MEAN:
        found = b.binary("divide", found, along(b, _sizes(n, chosen), shape(found), 0))
    return [n.cast(found), None, None, None]


def _has_last(n: Node) -> bool:
    """Return whether the last offset is the end of the last bag, not the start of another."""
    return bool(n.value("include_last_offset", False))


def _padded(
    n: Node, rows: SSAValue, counted: SSAValue, starts: Array, ends: Array
) -> tuple[SSAValue, SSAValue]:
    """Return rows [bags, size of the largest bag, columns] and which of them count, for bags at
    known places.
    """
    b, (count, width) = n.b, shape(rows)
    sizes = ends - starts
    bags, most = len(starts), int(sizes.max(initial=0))
    if bags * most == count and (sizes == most).all():
        return b.reshape(rows, (bags, most, width)), b.reshape(counted, (bags, most))
    places = starts[:, None] + np.arange(most)
    inside = b.constant(np.arange(most) < sizes[:, None])
    index = b.constant(np.minimum(places, count - 1).astype(np.int32))
    return at.take(b, rows, index, 0), b.binary("and", at.take(b, counted, index, 0), inside)


def _members(n: Node, bags: int) -> SSAValue:
    """Return whether each bag [bags] has each index [indices], for bags that depend on data."""
    b, count = n.b, shape(n["indices"])[0]
    offsets = b.convert(n["offsets"], i32)
    if not _has_last(n):
        offsets = b.concatenate([offsets, b.constant(np.array([count], np.int32))], 0)
    starts, ends = b.slice(offsets, [0], [bags]), b.slice(offsets, [1], [bags + 1])
    place = b.broadcast(b.constant(np.arange(count, dtype=np.int32)), (bags, count), (1,))
    after = b.compare(place, along(b, starts, (bags, count), 0), "GE")
    return b.binary("and", after, b.compare(place, along(b, ends, (bags, count), 0), "LT"))


def _sums(n: Node, chosen: SSAValue, rows: SSAValue) -> SSAValue:
    """Add the rows [indices, columns] that each bag has, by a dot with zeros and ones.

    In a dot of all rows, an infinity would become NaN in every bag that does not contain it (0 *
    inf). The dot therefore adds finite elements only, and two more dots count the infinities of
    each sign; NaN counts as both.
    """
    b = n.b
    marks = [
        b.unary("not", b.compare_number(rows, number, direction))
        for number, direction in ((math.inf, "LT"), (-math.inf, "GT"))
    ]
    special = b.binary("or", *marks)
    found = dot(b, chosen, b.select(special, b.fill_like(0, rows), rows), ([1], [0]))
    for mark, infinity in zip(marks, (math.inf, -math.inf), strict=True):
        count = dot(b, chosen, b.convert(mark, element(rows)), ([1], [0]))
        some = b.compare_number(count, 0, "GT")
        zero = b.fill_like(0, count)
        found = b.binary("add", found, b.select(some, b.fill_like(infinity, count), zero))
    return found


def _reduced(n: Node, rows: SSAValue, counted: SSAValue) -> SSAValue:
    """Reduce dimension 1 of the rows that count."""
    b, mode = n.b, n.value("mode", SUM)
    mask = along(b, counted, shape(rows), 0, 1)
    if mode != MAX:
        found = total(b, b.select(mask, rows, b.fill_like(0, rows)), [1])
        if mode == SUM:
            return found
        sizes = _sizes(n, b.convert(counted, element(rows)))
        return b.binary("divide", found, along(b, sizes, shape(found), 0))
    found = reduce(b, b.select(mask, rows, b.fill_like(float("-inf"), rows)), "maximum", [1])
    some = along(b, reduce(b, counted, "or", [1]), shape(found), 0)
    return b.select(some, found, b.fill_like(0, found))


def _sizes(n: Node, chosen: SSAValue) -> SSAValue:
    """Return the size of each bag, at least 1."""
    sizes = total(n.b, chosen, [1])
    return n.b.binary("maximum", sizes, n.b.fill_like(1, sizes))
