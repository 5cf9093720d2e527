"""Order the free digits of a layout, and find operands whose digits cannot be traversed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer, ints, string
from neuronir.passes.lowering.layouts.layout import Atom, atom, row_major, split_at
from neuronir.passes.tile.layouts.dot_plans import free_dims
from neuronir.passes.tile.layouts.maps import Partition, cut, own
from neuronir.passes.tile.layouts.place import Place
from neuronir.passes.tile.layouts.plans import Plan
from neuronir.passes.tile.layouts.views import straddles


def as_products(shape: tuple[int, ...], partition: Partition) -> list[Atom]:
    """Return the order of a dot's free digits: dimensions not on partitions innermost.

    They follow the order of the moving operand.
    """
    pieces = cut(own(partition, prod(shape)), shape)
    there = {d for _, _, d in pieces or ()}
    return [
        atom(n, s)
        for d, (s, n) in enumerate(zip(row_major(shape), shape, strict=True))
        if n > 1 and d not in there
    ]


def scattered(where: Place) -> bool:
    """Return whether elements that are neighbours in HBM are apart in a partition."""
    return any(a.stride == 1 and step > 1 for a, step in where.free)


def pixels_last(op: Operation, plan: Plan) -> list[Atom]:
    """Return the free digits of a convolution.

    Spatial positions are innermost if the kernel is stationary, features if the image is.
    """
    shape = shape_of(op.results[0])
    strides, feature = row_major(shape), integer(op, "output_feature_dim")
    places = [atom(n, strides[d]) for d, n in enumerate(shape) if n > 1 and d != feature]
    return places if plan.stationary == 1 else [atom(shape[feature], strides[feature])]


def needs_order(op: Operation, plan: Plan, index: int, where: Place) -> bool:
    """Return whether an op needs the free digits of an operand in the order of its dimensions."""
    shape = shape_of(op.operands[index])
    if straddles(where, shape):
        if op.name in BY_DIMENSIONS:
            return True
        if op.name == "hlo.concatenate":  # adjacent in the result from this dimension on
            d = integer(op, "dimension")
            return straddles(where, (prod(shape[:d]), prod(shape[d:])))
    return cut_up(op, plan, index, where) or row_in_pieces(op, index, where)


def cut_up(op: Operation, plan: Plan, index: int, where: Place) -> bool:
    """Return whether an operand's free digits are split differently from its reader's.

    The reader is a dot (by rows) or a convolution (by positions).
    """
    if op.name not in ("hlo.dot", "hlo.convolution"):
        return False
    shape = shape_of(op.operands[index])
    pieces = _ends(where.free, shape)
    if op.name == "hlo.convolution":
        mine = _ends(own(where.partition, prod(shape)), shape)
        return any(len(ends) > 1 and d not in mine for d, ends in pieces.items())
    out = shape_of(op.results[0])
    rows = _ends(own(plan.result or (), prod(out)), out)
    name = "lhs_batch_dims" if index == 0 else "rhs_batch_dims"
    dims = {**dict(free_dims(op, index)), **{d: n for n, d in enumerate(ints(op, name))}}
    for d, ends in pieces.items():
        edges = sorted(ends | rows.get(dims.get(d, -1), set()))
        if any(b % a for a, b in pairwise(edges)):
            return True
    return False


BY_DIMENSIONS = ("hlo.reduce", "hlo.pad", "hlo.reverse")
"""Ops that treat dimensions differently, so that no digit may cover parts of two."""
VIEWS = tuple(f"hlo.{n}" for n in ("reshape", "bitcast", "transpose", "slice", "convert"))
SORTS = ("sort_rows", "sort_pairs")


def by_rows(op: Operation) -> bool:
    """Return whether an op reads whole rows, in order: a recurrence or a sort."""
    if op.name == "hlo.composite":
        return string(op, "kind") in SORTS
    return op.name == "tile.scan"


def row_in_pieces(op: Operation, index: int, where: Place) -> bool:
    """Return whether the row of a recurrence or a sort is not a single digit."""
    shape = shape_of(op.operands[index])
    if not by_rows(op) or shape != shape_of(op.results[0]) or shape[-1] == 1:
        return False
    return not any(a.stride == 1 and a.size % shape[-1] == 0 for a, _ in where.free)


def _ends(pairs: Partition, shape: tuple[int, ...]) -> dict[int, set[int]]:
    """Return where digits start and end, in positions of their dimension."""
    found: dict[int, set[int]] = {}
    for a, _, d in cut(pairs, shape) or ():
        if d >= 0:
            stride = row_major(shape)[d]
            found.setdefault(d, set()).update((a.stride // stride, a.end // stride))
    return {d: ends - {1} for d, ends in found.items()}


def columns_order(op: Operation, plan: Plan, places: Sequence[Place | None]) -> list[Atom]:
    """Return the free digits of a dot: those of the moving operand, innermost, in its order."""
    moving = 1 - plan.stationary
    where = places[moving]
    shape, out = shape_of(op.operands[moving]), shape_of(op.results[0])
    if where is None:
        return []
    old, new = row_major(shape), row_major(out)
    edges = {c for s, n in zip(old, shape, strict=True) for c in (s, s * n)}
    order: list[Atom] = []
    for whole, _ in where.free:
        for a in split_at(whole, edges) or ():
            for d, to in free_dims(op, moving):
                if shape[d] > 1 and old[d] <= a.stride and a.end <= old[d] * shape[d]:
                    order.append(atom(a.size, a.stride // old[d] * new[to]))
    return order


def padded_order(op: Operation, where: Place | None) -> list[Atom]:
    """Return the free digits of a padded value in the order of those of its operand, outermost
    first, so that what reads slices of it beside other values of that order finds neighbours.

    Empty if products read it, which need an order of their own, or if padding cuts a digit.
    """
    if where is None or any(_multiplied(user) for user in _readers(op.results[0])):
        return []
    shape, out = shape_of(op.operands[0]), shape_of(op.results[0])
    old, new = row_major(shape), row_major(out)
    edges = {c for s, n in zip(old, shape, strict=True) for c in (s, s * n)}
    order: list[Atom] = []
    for whole, _ in where.free:
        for a in split_at(whole, edges) or (whole,):
            d = next(
                (d for d, n in enumerate(shape) if old[d] <= a.stride and a.end <= old[d] * n), None
            )
            if d is None or (shape[d] != out[d] and a.size != shape[d]):
                return []
            size = a.size if shape[d] == out[d] else out[d]
            order.append(atom(size, a.stride // old[d] * new[d]))
    return order


def _multiplied(op: Operation) -> bool:
    return op.name in ("hlo.dot", "hlo.convolution") or by_rows(op)


def _readers(value: SSAValue) -> Iterator[Operation]:
    """Return the ops that read a value, and those that read views or slices of it."""
    for use in value.uses:
        yield use.operation
        if use.operation.name in VIEWS:
            yield from _readers(use.operation.results[0])
